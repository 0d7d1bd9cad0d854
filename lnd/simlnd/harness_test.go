package simlnd

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// end stands in for lnet above the driver, for one incarnation of a host. It records the upcalls
// that it gets.
type end struct {
	h    *Host
	ni   lnd.NI
	sink []byte
	into [1]lnd.Segment // the one segment that a delivery gets as its memory: the bytes of sink

	got    []uint64 // match bits of the messages that arrived
	ended  []error  // errors with which messages were finalized, in order
	up     int
	causes []error // causes given to PeerDown
	hold   func(bits uint64) bool
	held   []*lnd.Delivery
	onGot  func(bits uint64)
	onEnd  func(m *lnd.Message)
}

func (e *end) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Owner, d.Sink = e, lnd.Payload{}
	if e.hold != nil && e.hold(d.Header.Put().MatchBits) {
		e.held = append(e.held, d)
		return lnd.Hold, nil
	}
	e.accept(d)
	return lnd.Accept, nil
}

func (e *end) accept(d *lnd.Delivery) {
	e.into[0] = e.sink
	d.Sink = lnd.Payload{Segments: e.into[:], Length: min(int(d.Header.PayloadLength), len(e.sink))}
}

func (e *end) Delivered(d *lnd.Delivery, err error) {
	if err == nil {
		bits := d.Header.Put().MatchBits
		e.got = append(e.got, bits)
		if e.onGot != nil {
			e.onGot(bits)
		}
	}
}

func (e *end) Abandon(d *lnd.Delivery) bool {
	for i, h := range e.held {
		if h == d {
			e.held = append(e.held[:i], e.held[i+1:]...)
			return true
		}
	}
	return false
}

func (e *end) Finalize(m *lnd.Message, err error) {
	e.ended = append(e.ended, err)
	if e.onEnd != nil {
		e.onEnd(m)
	}
}
func (e *end) Waits(*lnd.Message)                  {}
func (e *end) PeerUp(nid.ProcessID)                { e.up++ }
func (e *end) PeerDown(_ nid.ProcessID, err error) { e.causes = append(e.causes, err) }

// message makes a PUT with size bytes of payload.
func message(from, to sim.NodeID, bits uint64, size int) *lnd.Message {
	m := &lnd.Message{Target: nid.ProcessID{NID: NID(to), PID: nid.LustrePID}}
	m.Header.SrcNID, m.Header.DestNID = NID(from), NID(to)
	m.Header.SrcPID, m.Header.DestPID = nid.LustrePID, nid.LustrePID
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits})
	m.Header.PayloadLength = uint32(size)
	m.Payload = lnd.Payload{Segments: [][]byte{make([]byte, size)}, Length: size}
	return m
}

// net is a fabric with an end on every host.
type net struct {
	*Fabric
	t    testing.TB
	ends []*end // end of the latest incarnation of each host
}

func newNet(t testing.TB, nodes int, quality link.Quality, window int) *net {
	t.Helper()
	n := &net{t: t, ends: make([]*end, nodes)}
	var err error
	n.Fabric, err = New(Config{
		Nodes: nodes, Seed: 1, Window: window, Topology: &sim.Flat{Link: quality},
		Boot: func(h, _ *Host) {
			e := &end{h: h, sink: make([]byte, lnd.MaxPayload)}
			var err error
			e.ni, err = h.Driver().Startup(lnd.Config{Net: Net, Clock: h.Clock(), Tunables: lnd.Tunables{Timeout: 10 * time.Second}}, e)
			if err != nil {
				t.Error(err)
			}
			n.ends[h.ID()], h.Data = e, e
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.run(0)
	return n
}

// run lets d of virtual time pass.
func (n *net) run(d time.Duration) {
	n.t.Helper()
	if err := n.Run(n.Now() + d); err != nil {
		n.t.Fatal(err)
	}
}

// send sends count messages whose match bits begin at first.
func (n *net) send(from, to sim.NodeID, first, count, size int) {
	n.Do(from, func(*Host) {
		for i := range count {
			n.ends[from].ni.Send(message(from, to, uint64(first+i), size))
		}
	})
}

func millisecond() link.Quality { return link.Quality{Latency: link.Dist{Base: time.Millisecond}} }
