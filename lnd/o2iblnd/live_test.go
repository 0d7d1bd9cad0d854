package o2iblnd

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
)

var realClock = machine.RealClock()

// sink plays lnet for one NI: it accepts all messages, or holds them if hold is set, and counts the
// upcalls.
type sink struct {
	mu       sync.Mutex
	arrived  int
	finished int
	errs     []error
	ups      int
	downs    []error
	hold     bool
	held     []*lnd.Delivery
	abandons int
}

func (s *sink) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Sink, d.Dropped = lnd.Payload{}, false
	if n := int(d.Header.PayloadLength); n > 0 {
		d.Sink = lnd.Payload{Segments: [][]byte{make([]byte, n)}, Length: n}
	}
	if s.hold {
		s.held = append(s.held, d)
		return lnd.Hold, nil
	}
	return lnd.Accept, nil
}

func (s *sink) Delivered(_ *lnd.Delivery, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.arrived++; err != nil {
		s.errs = append(s.errs, err)
	}
}

func (s *sink) Finalize(_ *lnd.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished++; err != nil {
		s.errs = append(s.errs, err)
	}
}

func (s *sink) Abandon(d *lnd.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.held, d)
	if i < 0 {
		return false
	}
	s.held = slices.Delete(s.held, i, i+1)
	s.abandons++
	return true
}

func (s *sink) Waits(*lnd.Message)   {}
func (s *sink) PeerUp(nid.ProcessID) { s.mu.Lock(); s.ups++; s.mu.Unlock() }

func (s *sink) PeerDown(_ nid.ProcessID, err error) {
	s.mu.Lock()
	s.downs = append(s.downs, err)
	s.mu.Unlock()
}

func (s *sink) await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	if !lndtest.Poll(func() bool { s.mu.Lock(); defer s.mu.Unlock(); return cond() }) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("no %s: %d arrived, %d finished, errors %v, up %d, down %v", what, s.arrived, s.finished, s.errs, s.ups, s.downs)
	}
}

func newMessage(from *NI, to nid.NID, n int) *lnd.Message {
	m := &lnd.Message{Target: lustre(to)}
	m.Header = lnetwire.Header{SrcNID: from.nid, DestNID: to, SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: uint32(n)}
	m.Header.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle()})
	m.Payload = lnd.Payload{Segments: [][]byte{noise[:n]}, Length: n}
	return m
}

// shut ends an NI without waiting for its messages.
func shut(ni *NI) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = ni.Shutdown(ctx)
}

// TestBothAsk: both sides send requests at once, again and again; everything arrives and no
// connection is left over.
func TestBothAsk(t *testing.T) {
	for range 20 {
		at := loopbackAddrs(2)
		a, b := new(sink), new(sink)
		x, y := start(t, at[0], softroce.Open, Config{}, a), start(t, at[1], softroce.Open, Config{}, b)
		var wg sync.WaitGroup
		for _, ni := range [][2]*NI{{x, y}, {y, x}} {
			wg.Go(func() {
				for i := range 10 {
					ni[0].Send(newMessage(ni[0], ni[1].nid, i*1000))
				}
			})
		}
		wg.Wait()
		for _, s := range []*sink{a, b} {
			s.await(t, "arrivals", func() bool { return s.arrived == 10 && s.finished == 10 })
			if len(s.errs) > 0 || s.ups != 1 {
				t.Errorf("errors %v, %d up", s.errs, s.ups)
			}
		}
		shut(x)
		shut(y)
	}
}

// TestPeerRestarts: the request of a peer that comes back with another stamp is rejected while
// its old connection is there, and accepted when repeated.
func TestPeerRestarts(t *testing.T) {
	at := loopbackAddrs(2)
	a, b := new(sink), new(sink)
	x := start(t, at[0], softroce.Open, Config{}, a)
	defer shut(x)
	for incarnation := range 4 {
		y := start(t, at[1], softroce.Open, Config{}, b, func(c *lnd.Config) { c.Incarnation = uint64(100 + incarnation) })
		y.Send(newMessage(y, x.nid, 5000))
		b.await(t, "message of the new life", func() bool { return b.finished == incarnation+1 })
		x.Send(newMessage(x, y.nid, 5000))
		a.await(t, "answer", func() bool { return a.finished == incarnation+1 })
		if len(a.errs)+len(b.errs) > 0 {
			t.Fatalf("life %d: %v %v", incarnation, a.errs, b.errs)
		}
		shut(y)
	}
}

// TestRenegotiation: a peer with a shorter queue refuses a connection, and this side requests it again with
// a queue of that length (o2iblnd-wire §6). Messages are spread over several connections.
func TestRenegotiation(t *testing.T) {
	at := loopbackAddrs(2)
	a, b := new(sink), new(sink)
	x := start(t, at[0], softroce.Open, Config{ConnsPerPeer: 4}, a, func(c *lnd.Config) { c.Tunables.PeerCredits = 32 })
	y := start(t, at[1], softroce.Open, Config{}, b)
	defer shut(x)
	defer shut(y)
	for range 100 {
		x.Send(newMessage(x, y.nid, 100))
	}
	a.await(t, "messages", func() bool { return a.finished == 100 })
	a.await(t, "connections", func() bool { return len(x.Snapshot().Peers[0].Conns) == 4 })
	for _, c := range x.Snapshot().Peers[0].Conns {
		if c.QueueDepth != 8 {
			t.Errorf("queues of %d", c.QueueDepth)
		}
	}
	if s := x.Snapshot(); s.Counters.Of(RejectedDepth) == 0 {
		t.Error("no reject was counted")
	}
	for range 100 {
		x.Send(newMessage(x, y.nid, 100))
	}
	b.await(t, "messages", func() bool { return b.arrived == 200 })
	for _, c := range x.Snapshot().Peers[0].Conns {
		if c.TxMessages < 20 {
			t.Errorf("connection %d sent %d messages", c.QPN, c.TxMessages)
		}
	}
}

// TestHeldGone: messages that lnet holds when the peer ends are abandoned, or delivered with
// the error if lnet has called Recv.
func TestHeldGone(t *testing.T) {
	at := loopbackAddrs(2)
	a, b := new(sink), &sink{hold: true}
	x, y := start(t, at[0], softroce.Open, Config{}, a), start(t, at[1], softroce.Open, Config{}, b)
	for _, n := range []int{100, 5000, 200, 6000} {
		x.Send(newMessage(x, y.nid, n))
	}
	b.await(t, "held messages", func() bool { return len(b.held) == 4 })
	b.mu.Lock()
	wanted := b.held[2:]
	b.held = b.held[:2:2]
	b.mu.Unlock()
	shut(x)
	b.await(t, "end", func() bool { return len(b.downs) == 1 && b.abandons == 2 })
	for _, d := range wanted {
		y.Recv(d)
	}
	b.await(t, "error", func() bool { return b.arrived == 2 && len(b.errs) == 2 })
	shut(y)
}

// TestStorm: messages of all sizes are sent while peers start and end. Each is finalized once, and
// nothing is left on the devices.
func TestStorm(t *testing.T) {
	at := loopbackAddrs(3)
	rounds := effort.Of(4, 6, 15) // six rounds in a row include every kind of round
	for round := range rounds {
		var nis [3]*NI
		var sinks [3]*sink
		var devs []verbs.Device
		for i := range nis {
			dev, err := softroce.Open(verbs.OpenConfig{Addr: at[i], Clock: realClock})
			if err != nil {
				t.Fatal(err)
			}
			devs = append(devs, dev)
			sinks[i] = new(sink)
			nis[i] = start(t, at[i], softroce.Open, Config{}, sinks[i], func(c *lnd.Config) { c.Incarnation = uint64(round + 1) })
		}
		var sent [3]int
		var wg sync.WaitGroup
		for i, ni := range nis {
			r := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			wg.Go(func() {
				for k := range 60 {
					to := nis[(i+1+k%2)%3].nid
					ni.Send(newMessage(ni, to, r.IntN(1<<r.IntN(21))))
					sent[i]++
				}
			})
		}
		if round%2 == 1 {
			shut(nis[0]) // end the NI in the middle of the storm
		}
		wg.Wait()
		for i, ni := range nis {
			if round%3 == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
				if err := ni.Shutdown(ctx); err != nil {
					t.Errorf("shutdown: %v", err)
				}
				cancel()
			} else {
				shut(ni)
			}
			if sinks[i].finished != sent[i] {
				t.Errorf("%d of %d finalized", sinks[i].finished, sent[i])
			}
		}
		for _, dev := range devs {
			if s := dev.(interface{ Stats() softroce.Stats }).Stats(); s.Regions != 0 || s.QueuePairs != 0 {
				t.Errorf("%d regions and %d queue pairs left", s.Regions, s.QueuePairs)
			}
			_ = dev.Close()
		}
	}
}

// TestOneOfFour: when one of a peer's connections ends, its messages end, and no others. The peer
// is down when the last connection ends.
func TestOneOfFour(t *testing.T) {
	at := loopbackAddrs(2)
	a, b := new(sink), new(sink)
	x, y := start(t, at[0], softroce.Open, Config{ConnsPerPeer: 4}, a), start(t, at[1], softroce.Open, Config{}, b)
	x.Send(newMessage(x, y.nid, 10))
	conns := func() []*conn {
		p := x.peers.Get(y.nid)
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.conns
	}
	a.await(t, "connections", func() bool { return a.finished == 1 && len(conns()) == 4 })
	for left := 3; left > 0; left-- {
		conns()[0].fail(newError(TransportFailed, lustre(y.nid), verbs.General))
		a.await(t, "end of one", func() bool { return len(conns()) == left })
		for range 8 {
			x.Send(newMessage(x, y.nid, 5000))
		}
		a.await(t, "messages", func() bool { return a.finished == 1+8*(4-left) })
	}
	if len(a.errs)+len(a.downs) > 0 || a.ups != 1 {
		t.Errorf("errors %v, down %v, up %d", a.errs, a.downs, a.ups)
	}
	conns()[0].fail(newError(TransportFailed, lustre(y.nid), verbs.General))
	a.await(t, "end", func() bool { return len(a.downs) == 1 })
	x.Send(newMessage(x, y.nid, 10)) // this message makes x connect again
	a.await(t, "message", func() bool { return a.finished == 26 && a.ups == 2 })
	shut(x)
	shut(y)
}
