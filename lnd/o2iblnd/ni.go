package o2iblnd

import (
	"context"
	"errors"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

var errUnfinished = errors.New("o2iblnd: not joined to verbs yet")

// Startup implements lnd.Driver.
func (d *Driver) Startup(lnd.Config, lnd.Upcalls) (lnd.NI, error) {
	return nil, errUnfinished
}

// NI is one network interface: one local address in one net, and the peers that are
// reached from it.
type NI struct {
	cfg    Config // with defaults
	nid    nid.NID
	up     lnd.Upcalls
	counts counters
	cast   casting // Startup calls init, Shutdown calls shutdown
}

var _ lnd.NI = (*NI)(nil)

// NID implements lnd.NI.
func (ni *NI) NID() nid.NID { return ni.nid }

// Send implements lnd.NI.
func (ni *NI) Send(m *lnd.Message) { ni.up.Finalize(m, errUnfinished) }

// Recv implements lnd.NI.
func (ni *NI) Recv(*lnd.Delivery) {}

// Shutdown implements lnd.NI.
func (ni *NI) Shutdown(context.Context) error { return nil }

// Snapshot returns the NI's state.
func (ni *NI) Snapshot() Snapshot { return Snapshot{NID: ni.nid, Counters: ni.counts.snapshot(), Multicast: ni.multicastSnapshot()} }
