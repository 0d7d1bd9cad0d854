//go:build linux

package lnetdtest

import (
	"fmt"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
)

// Status asks the daemon for its state.
func (d *Daemon) Status() node.Status {
	d.t.Helper()
	s, err := node.OpStatus.Call(d.t.Context(), d.control, control.None{})
	if err != nil {
		d.t.Fatalf("status of lnetd: %v", err)
	}
	return s
}

// Reasons returns how often connections were refused, closed or could not be opened, by reason.
func (d *Daemon) Reasons() map[string]uint64 {
	d.t.Helper()
	all := make(map[string]uint64)
	for _, ni := range d.Status().NIs {
		for why, n := range ni.LND.Reasons {
			all[why] += n
		}
	}
	return all
}

// Count returns how often connections were refused, closed or could not be opened for a reason.
func (d *Daemon) Count(why fmt.Stringer) uint64 {
	d.t.Helper()
	return d.Reasons()[why.String()]
}

// Connections returns the number of established connections.
func (d *Daemon) Connections() (sum int) {
	d.t.Helper()
	for _, ni := range d.Status().NIs {
		sum += ni.LND.Connections
	}
	return sum
}

// Router asks the daemon for its state as a router.
func (d *Daemon) Router() lnet.RouterSnapshot {
	d.t.Helper()
	s, err := node.OpRouting.Call(d.t.Context(), d.control, control.None{})
	if err != nil {
		d.t.Fatalf("routing of lnetd: %v", err)
	}
	return s
}
