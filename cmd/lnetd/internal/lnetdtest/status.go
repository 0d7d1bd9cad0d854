//go:build linux

package lnetdtest

import (
	"ulnet/cmd/internal/node"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
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

// Count returns how often connections were refused, closed or not made for
// one reason.
func (d *Daemon) Count(why socklnd.Reason) uint64 {
	d.t.Helper()
	var n uint64
	for _, ni := range d.Status().NIs {
		if ni.Socklnd != nil {
			n += ni.Socklnd.Reasons[why.String()]
		}
	}
	return n
}

// Drops returns how many messages were dropped for one reason.
func (d *Daemon) Drops(why lnet.DropReason) uint64 {
	d.t.Helper()
	return d.Status().Stats.DropReasons[why.String()]
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
