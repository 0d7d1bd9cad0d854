//go:build linux

package lnetdtest

import (
	"ulnet/cmd/internal/node"
	"ulnet/lnd/socklnd"
)

// Status asks the daemon for its state.
func (d *Daemon) Status() node.Status {
	d.t.Helper()
	s, err := d.control.Status(d.t.Context())
	if err != nil {
		d.t.Fatalf("status of lnetd: %v", err)
	}
	return s
}

// Reasons returns how often connections were refused, closed or not made, for
// each reason that occurred.
func (d *Daemon) Reasons() map[string]uint64 {
	d.t.Helper()
	all := make(map[string]uint64)
	for _, ni := range d.Status().NIs {
		if ni.Socklnd == nil {
			continue
		}
		for why, n := range ni.Socklnd.Reasons {
			all[why] += n
		}
	}
	return all
}

// Count returns one of Reasons.
func (d *Daemon) Count(why socklnd.Reason) uint64 {
	d.t.Helper()
	return d.Reasons()[why.String()]
}

// Connections returns the number of established TCP connections.
func (d *Daemon) Connections() int {
	d.t.Helper()
	var n int
	for _, ni := range d.Status().NIs {
		if ni.Socklnd != nil {
			n += ni.Socklnd.Connections
		}
	}
	return n
}
