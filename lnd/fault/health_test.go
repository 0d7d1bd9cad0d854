package fault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/portals/node"
)

// selftest is the portal of the recorded traffic (lnet_selftest).
const selftest = 50

// twoRails has two nodes in virtual time, each with two NIs on one net, as in the recordings of kernels. A
// plan applies to the messages that the first node sends.
type twoRails struct {
	t      *testing.T
	fabric *simlnd.Fabric
	nodes  [2]*node.Node
	plan   *fault.Plan
	wire   []wire.Header // headers of the messages that the first node sent

	ended, failed int // number of SEND events, and of SEND events with an error
	arrived       int // number of PUTs that arrived
}

func newTwoRails(t *testing.T) *twoRails {
	t.Helper()
	r := &twoRails{t: t}
	f, err := simlnd.New(simlnd.Config{Nodes: 2, Seed: 1, Boot: func(h, _ *simlnd.Host) {
		r.boot(h)
	}})
	if err == nil {
		err = f.Run(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.fabric = f
	r.run(time.Second)
	return r
}

// boot starts the node of a host, with the transaction_timeout that the kernel nodes in the
// recordings had.
func (r *twoRails) boot(h *simlnd.Host) {
	cfg := node.Config{Networks: "tcp(eth0),tcp(eth1)", Clock: h.Clock(), Drivers: []lnd.Driver{h.Driver()}}
	cfg.LNet.TransactionTimeout, cfg.LNet.Incarnation = 10*time.Second, h.LNetIncarnation()
	if h.ID() == 0 {
		r.plan = fault.New(fault.Config{Clock: h.Clock(), Seed: 1})
		cfg.Wrap = func(d lnd.Driver) lnd.Driver { return fault.Wrap(&recorder{d, &r.wire}, r.plan) }
	}
	n, err := node.Start(cfg)
	if err != nil {
		r.t.Error(err)
		return
	}
	r.nodes[h.ID()] = n
	if h.ID() == 1 {
		var in portals.Inbox
		if err := in.Open(n.Table(), portals.InboxConfig{Portal: selftest, Handle: func(*portals.Event, []byte) { r.arrived++ }}); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *twoRails) run(d time.Duration) {
	r.t.Helper()
	if err := r.fabric.Run(r.fabric.Now() + d); err != nil {
		r.t.Fatal(err)
	}
}

// put makes the first node send a PUT to the second, and waits for 100 ms.
func (r *twoRails) put() {
	r.t.Helper()
	r.fabric.Do(0, func(*simlnd.Host) {
		table := r.nodes[0].Table()
		md, err := table.MDBind(portals.MD{Threshold: 1, Segments: [][]byte{[]byte("ping")}, Handler: func(e *portals.Event) {
			r.ended++
			if e.Err != nil {
				r.failed++
			}
		}}, portals.Unlink)
		if err == nil {
			err = table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: simlnd.NID(1), PID: nid.LustrePID}, Portal: selftest})
		}
		if err != nil {
			r.t.Error(err)
		}
	})
	r.run(100 * time.Millisecond)
}

// recorder is a driver that keeps the headers of the messages that its NIs are given to send.
type recorder struct {
	lnd.Driver
	to *[]wire.Header
}

// Startup implements lnd.Driver.
func (d *recorder) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni, err := d.Driver.Startup(cfg, up)
	return &recorded{ni, d.to}, err
}

type recorded struct {
	lnd.NI
	to *[]wire.Header
}

// Send implements lnd.NI.
func (ni *recorded) Send(m *lnd.Message) {
	*ni.to = append(*ni.to, m.Header)
	ni.NI.Send(m)
}

// TestLocalDropped: as in the recording tcp-health-local-dropped, sends that fail are repeated
// by another NI. None of the failed sends is on the wire, and each operation ends once. Later
// sends restore the health without a recovery ping.
func TestLocalDropped(t *testing.T) {
	spec.Covers(t, "FR-13")
	r := newTwoRails(t)
	err := r.plan.AddRule(faultrule.Drop, faultrule.Attr{Source: nid.Any(), Dest: nid.Any(), Rate: 4, Portals: 1 << selftest, Types: 1 << wire.Put, Classes: 1 << lnd.LocalDropped})
	if err != nil {
		t.Fatal(err)
	}
	r.put() // the first message starts discovery of the peer
	begin := len(r.wire)
	for range 15 {
		r.put()
	}
	if r.ended != 16 || r.failed != 0 || r.arrived != 16 {
		t.Errorf("%d ended, %d failed, %d arrived", r.ended, r.failed, r.arrived)
	}
	if s := r.plan.Snapshot().Drop[0]; s.Hit < 5 || s.Matched != 16+s.Hit {
		t.Errorf("%d hit of %d, want each to be sent again", s.Hit, s.Matched)
	}
	if n := len(r.wire) - begin; n != 15 {
		t.Errorf("%d messages were on the wire, want 15: %v", n, r.wire[begin:])
	}
}

// TestRemoteDropped: as in the recording tcp-health-remote-dropped, a send to an NI of the peer
// fails and is repeated to the peer's other NI. That NI gets all messages until a ping has
// restored the health of the first.
func TestRemoteDropped(t *testing.T) {
	spec.Covers(t, "FR-13")
	r := newTwoRails(t)
	bad := simlnd.NIDOn(simlnd.Net, 1, 1)
	r.put()
	err := r.plan.AddRule(faultrule.Drop, faultrule.Attr{Source: nid.Any(), Dest: bad, Rate: 1, Portals: 1 << selftest, Types: 1 << wire.Put, Classes: 1 << lnd.RemoteDropped})
	if err != nil {
		t.Fatal(err)
	}
	begin := len(r.wire)
	for range 6 {
		r.put()
	}
	if s := r.plan.Snapshot().Drop[0]; s.Hit != 1 || r.ended != 7 || r.failed != 0 || r.arrived != 7 {
		t.Errorf("%d hit, %d ended, %d failed, %d arrived", s.Hit, r.ended, r.failed, r.arrived)
	}
	for _, h := range r.wire[begin:] {
		if h.DestNID == bad && h.Type == wire.Put {
			t.Errorf("%v to the NI that failed", h.Type)
		}
	}
	r.run(3 * time.Second)
	pings := 0
	for _, h := range r.wire[begin:] {
		if h.DestNID == bad && h.Type == wire.Get {
			pings++
		}
	}
	if pings == 0 {
		t.Error("no recovery ping")
	}
	if err := errors.Join(r.nodes[0].Close(context.Background())); err != nil {
		t.Error(err)
	}
}
