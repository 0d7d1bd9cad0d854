package lnetsim

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestLatencyBesideOthers: round trips to a live peer, eight at a time, take hardly longer
// while the queues of unreachable and stuck peers are kept full.
func TestLatencyBesideOthers(t *testing.T) {
	alone := newBeside(t, 0, 0).run()
	for name, c := range map[string]struct{ dead, stuck int }{
		"32 dead":         {32, 0},
		"32 stuck":        {0, 32},
		"40 of each":      {40, 40},
		"very many stuck": {0, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			beside := newBeside(t, c.dead, c.stuck).run()
			if limit := alone*12/10 + time.Millisecond; beside > limit {
				t.Errorf("the 99th percentile is %v, %v alone: want %v at most", beside, alone, limit)
			}
		})
	}
}

// The hosts: a sender, a live peer, dead ones, stuck ones.
const (
	besideSender = sim.NodeID(0)
	besideLive   = sim.NodeID(1)
	besideFirst  = 2 // index of the first dead host
)

// beside is a sender that measures its round trips.
type beside struct {
	t      *testing.T
	fabric *simlnd.Fabric
	sender *Stack
	others int
	took   []time.Duration
}

func newBeside(t *testing.T, dead, stuck int) *beside {
	b := &beside{t: t, others: dead + stuck}
	var err error
	b.fabric, err = simlnd.New(simlnd.Config{
		Nodes: besideFirst + b.others, Seed: 1, Window: 64 << 10, Boot: b.boot,
		Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range dead {
		b.fabric.Crash(sim.NodeID(besideFirst + i))
	}
	return b
}

// boot builds a stack. All but the sender and the live peer hold what arrives.
func (b *beside) boot(h, _ *simlnd.Host) {
	s, err := NewStack(h, StackConfig{})
	if err != nil {
		b.t.Fatal(err)
	}
	switch h.ID() {
	case besideSender:
		b.sender = s
	case besideLive:
		me, _ := s.Table.MEAttach(testPortal, portals.Match{Ignore: ^uint64(0)}, portals.Retain, portals.After)
		_, err = s.Table.MDAttach(me, portals.MD{
			Segments: []lnd.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote,
		}, portals.Retain)
	default:
		err = s.Table.SetLazy(testPortal)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// run measures round trips for some seconds, while messages to the dead and stuck peers are
// always queued, and returns the 99th percentile.
func (b *beside) run() time.Duration {
	b.t.Helper()
	const warm, end = time.Second, 4 * time.Second
	b.fabric.At(time.Millisecond, func() {
		b.fabric.Do(besideSender, func(*simlnd.Host) {
			for range 8 {
				b.ping()
			}
		})
	})
	b.fabric.At(warm, func() { b.fabric.Do(besideSender, func(*simlnd.Host) { b.flood() }) })
	if err := b.fabric.Run(end); err != nil {
		b.t.Fatal(err)
	}
	b.fabric.Do(besideSender, func(*simlnd.Host) { _ = b.sender.Close() })
	if len(b.took) < 8_000 {
		b.t.Fatalf("%d round trips", len(b.took))
	}
	slices.Sort(b.took)
	return b.took[len(b.took)*99/100]
}

// ping makes one round trip after another, without end.
func (b *beside) ping() {
	clock := b.sender.Host.Clock()
	began := clock.Now()
	b.put(besideLive, make([]byte, 64), true, func(e *portals.Event) {
		if e.Kind == portals.EventAck {
			b.took = append(b.took, clock.Now()-began)
			b.ping()
		}
	})
}

// flood sends to each dead or stuck peer more than its connection can take.
func (b *beside) flood() {
	bulk := make([]byte, 16<<10)
	for i := range b.others {
		for range 16 {
			b.put(sim.NodeID(besideFirst+i), bulk, false, func(*portals.Event) {})
		}
	}
}

func (b *beside) put(to sim.NodeID, data []byte, ack bool, handler func(*portals.Event)) {
	threshold := 1
	if ack {
		threshold = 2
	}
	md, err := b.sender.Table.MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: threshold, Handler: handler}, portals.Unlink)
	if err == nil {
		target := nid.ProcessID{NID: simlnd.NID(to), PID: nid.LustrePID}
		err = b.sender.Table.Put(portals.PutRequest{MD: md, Ack: ack, Target: target, Portal: testPortal})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
