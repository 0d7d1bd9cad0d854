package portals_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// slow is a node with an MD whose handler blocks at its first event until open is called.
// Each message arrives by a connection of its own.
type slow struct {
	*harness
	net    *network
	md     portals.MDHandle
	me     portals.MEHandle
	gate   chan struct{}
	events []portals.Event
	count  uint64 // number of messages so far

	returned bool // the goroutine that delivered the first message has returned
}

// slowly runs f when the handler blocks. The MD is conf, with its memory and handler set.
func slowly(t *testing.T, conf portals.MD, f func(t *testing.T, s *slow)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		table, net := newWire(t)
		s := &slow{harness: &harness{Table: table, t: t, self: here}, net: net, gate: make(chan struct{})}
		conf.Segments = []lnd.Segment{make([]byte, 64)}
		if conf.Threshold == 0 {
			conf.Threshold = inf
		}
		conf.Options |= portals.OpPut | portals.OpGet | portals.ManageRemote
		conf.Handler = func(e *portals.Event) {
			s.events = append(s.events, *e)
			if len(s.events) == 1 {
				<-s.gate
			}
		}
		s.me, s.md = s.post(5, portals.Match{}, conf)
		go func() {
			s.put(1)
			s.returned = true
		}()
		synctest.Wait()
		if len(s.events) != 1 {
			t.Fatal("the handler does not run")
		}
		f(t, s)
	})
}

// put makes n messages arrive, numbered in their header data.
func (s *slow) put(n int) {
	for range n {
		s.count++
		if err := s.net.arrive(putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, HdrData: s.count}), nil); err != nil {
			s.t.Error(err)
		}
	}
}

// open lets the handler go on.
func (s *slow) open() {
	close(s.gate)
	synctest.Wait()
}

// wantEvents fails the test unless the header data of the PUT events are the numbers between from and to.
func (s *slow) wantEvents(from, to uint64) {
	s.t.Helper()
	var got, want []uint64
	for _, e := range s.events {
		if e.Kind == portals.EventPut {
			got = append(got, e.HdrData)
		}
	}
	for n := from; n <= to; n++ {
		want = append(want, n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func (s *slow) wantDrops(want map[string]uint64) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.drops()); diff != "" || s.net.holding() != 0 {
		s.t.Errorf("%d held, drops (-want +got):\n%s", s.net.holding(), diff)
	}
}

// TestBackPressure (PT-33): while a handler runs, a bounded number of events waits for it. The
// driver keeps further messages. They are taken in their order when the handler has caught up,
// and none is lost.
func TestBackPressure(t *testing.T) {
	spec.Covers(t, "PT-33")
	slowly(t, portals.MD{}, func(_ *testing.T, s *slow) {
		const more = 3 * portals.MaxPending
		s.put(portals.MaxPending + more)
		if n := s.net.holding(); n != more {
			s.t.Errorf("%d messages are held, want %d: the others wait for the handler", n, more)
		}
		s.open()
		s.put(1)
		s.wantEvents(1, 1+portals.MaxPending+more+1)
		s.wantDrops(map[string]uint64{})
	})
}

// TestBackPressureKeepsEntry: a message that waits for its MD's handler is not tried against
// the next entry. It is matched again when its turn comes, and by then the MD may be exhausted.
func TestBackPressureKeepsEntry(t *testing.T) {
	slowly(t, portals.MD{Threshold: 1 + portals.MaxPending + 2}, func(t *testing.T, s *slow) {
		var next log
		s.post(5, portals.Match{}, portals.MD{Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut, Handler: next.handle})
		s.put(portals.MaxPending + 5)
		if len(next.events) > 0 {
			t.Errorf("%d messages have passed on to the next entry", len(next.events))
		}
		s.open()
		s.wantEvents(1, 1+portals.MaxPending+2)
		if len(next.events) != 3 || next.events[0].HdrData != 1+portals.MaxPending+3 {
			t.Errorf("the next entry got %v", next.events)
		}
		if last := s.events[len(s.events)-1]; !last.Unlinked {
			t.Error("the exhausted MD was not unlinked")
		}
		s.wantDrops(map[string]uint64{})
	})
}

// TestBackPressureEnds: while messages wait for a handler, their MD, NI or connection ends, or their portal
// stops being lazy. Messages that can no longer be received are dropped, and counted under the reason that
// applies.
func TestBackPressureEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(t *testing.T, s *slow)
		drops map[string]uint64
	}{
		"its MD is unlinked": {func(t *testing.T, s *slow) {
			if err := s.MDUnlink(s.md); err != nil {
				t.Error(err)
			}
		}, map[string]uint64{"no match": 3}},
		"its ME is unlinked, on a lazy portal": {func(t *testing.T, s *slow) {
			if err := s.SetLazy(5); err != nil {
				t.Error(err)
			}
			if err := s.MEUnlink(s.me); err != nil {
				t.Error(err)
			}
			s.open()
			if n := s.net.holding(); n != 3 {
				t.Errorf("%d held, want 3", n)
			}
			s.gate = make(chan struct{})
			if err := s.ClearLazy(5); err != nil {
				t.Error(err)
			}
		}, map[string]uint64{"lazy portal cleared": 3}},
		"the portal is no longer lazy, which does not matter": {func(t *testing.T, s *slow) {
			if err := s.ClearLazy(5); err != nil {
				t.Error(err)
			}
		}, map[string]uint64{}},
		"its NI goes": {func(t *testing.T, s *slow) {
			if err := s.Node().RemoveNI(t.Context(), s.Node().NIs()[0]); err != nil {
				t.Error(err)
			}
		}, map[string]uint64{"NI shutdown": 3}},
		"its connection ends": {func(t *testing.T, s *slow) {
			put := s.hold(putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}))
			get := s.hold(getHeader(wire.GetCmd{Portal: 5, SinkLength: 4}))
			if !s.net.up.Abandon(put) || !s.net.up.Abandon(get) || s.net.up.Abandon(put) {
				t.Error("what is held can be given up once")
			}
		}, map[string]uint64{"peer gone": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
				s.put(portals.MaxPending + 3)
				c.end(t, s)
				s.open()
				s.wantDrops(c.drops)
				if diff := cmp.Diff(c.drops, s.drops()); diff == "" && len(c.drops) == 0 {
					s.wantEvents(1, 1+portals.MaxPending+3)
				}
			})
		})
	}
}

// hold makes a message arrive that must be held.
func (s *slow) hold(h wire.Header) *lnd.Delivery {
	s.t.Helper()
	d := &lnd.Delivery{Header: h, From: there}
	if v, err := s.net.up.Parse(d); v != lnd.Hold || err != nil {
		s.t.Fatalf("verdict %v, %v", v, err)
	}
	return d
}

// TestBackPressureGet: a GET waits for the handler like a PUT, and is answered when its turn
// comes.
func TestBackPressureGet(t *testing.T) {
	slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
		s.put(portals.MaxPending)
		if err := s.net.arrive(getHeader(wire.GetCmd{ReturnMD: handle(77), Portal: 5, SinkLength: 8}), nil); err != nil {
			t.Error(err)
		}
		if m := s.net.next(); m != nil || s.net.holding() != 1 {
			t.Errorf("%d held, sent %v", s.net.holding(), m)
		}
		s.open()
		m := s.net.next()
		if m == nil || m.Header.Type != wire.Reply || m.Header.PayloadLength != 8 {
			t.Fatalf("sent %+v", m)
		}
		s.net.finalize(m, nil)
		if last := s.events[len(s.events)-1]; last.Kind != portals.EventGet || last.Portal != 5 {
			t.Errorf("%v", last)
		}
	})
}

// TestBackPressureDatagram: a datagram for an MD whose handler is behind is dropped and counted, not held.
func TestBackPressureDatagram(t *testing.T) {
	slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
		if err := s.JoinGroup(here.NID, 9, 5); err != nil {
			t.Fatal(err)
		}
		s.put(portals.MaxPending)
		d := &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), From: there, Group: 9}
		if v, err := s.net.up.Parse(d); v != lnd.Accept || err != nil {
			t.Errorf("verdict %v, %v", v, err)
		}
		s.net.receive(d, nil)
		s.open()
		s.wantDrops(map[string]uint64{lnet.HandlerBusy.String(): 1})
	})
}

// TestBackPressureHeard: LastHeard takes a message into account when it arrives, even if it is held.
func TestBackPressureHeard(t *testing.T) {
	slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
		s.put(portals.MaxPending)
		d := &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), From: there, ReceivedAt: 1 << 40}
		if v, err := s.net.up.Parse(d); v != lnd.Hold || err != nil {
			t.Errorf("verdict %v, %v", v, err)
		}
		if at, ok := s.LastHeard(there); !ok || at != d.ReceivedAt {
			t.Errorf("heard at %v, %t; want %v", at, ok, d.ReceivedAt)
		}
		s.net.up.Abandon(d)
		s.open()
	})
}

// TestBackPressureOwn: answers to operations of this node are never held: their number is
// limited by that of the operations.
func TestBackPressureOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, net := newWire(t)
		table.TimeOneIn(0)
		h := &harness{Table: table, t: t, self: here}
		const puts = 2 * portals.MaxPending
		gate, acks := make(chan struct{}), 0
		md := h.bind(portals.MD{Threshold: 2 * puts, Handler: func(e *portals.Event) {
			if e.Kind == portals.EventAck {
				acks++
				<-gate
			}
		}})
		for range puts {
			if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: there}); err != nil {
				t.Fatal(err)
			}
		}
		for m := net.next(); m != nil; m = net.next() {
			net.finalize(m, nil)
		}
		for range puts {
			go func() { _ = net.arrive(ackHeader(handle(md), 0), nil) }()
		}
		synctest.Wait()
		if n := net.holding(); n != 0 || acks != 1 {
			t.Errorf("%d ACKs are held, %d handled", n, acks)
		}
		close(gate)
		synctest.Wait()
		if acks != puts {
			t.Errorf("%d ACKs, want %d", acks, puts)
		}
	})
}

// TestBackPressureLazy: an MD that is attached where many PUTs wait takes them in their
// order, followed by those that arrive while its handler runs.
func TestBackPressureLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, net := newLazy(t)
		const waiting = 2*portals.MaxPending + 7
		for n := range waiting {
			h.arrivePut(net, uint64(n), 4)
		}
		var next uint64
		gate := make(chan struct{})
		go h.post(5, portals.Match{Ignore: ^uint64(0)}, portals.MD{
			Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: func(e *portals.Event) {
				if e.MatchBits != next {
					t.Errorf("%d, want %d", e.MatchBits, next)
				}
				if next++; next == 1 {
					<-gate
				}
			},
		})
		synctest.Wait()
		go h.arrivePut(net, waiting, 4)
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if next != waiting+1 || net.holding() != 0 {
			t.Errorf("%d events, want %d; %d held", next, waiting+1, net.holding())
		}
	})
}

// TestBackPressureInbox: messages for an inbox never wait for its handler.
func TestBackPressureInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, net := newLazy(t)
		gate := make(chan struct{})
		in := openInbox(t, h, func(*portals.Event, []byte) { <-gate })
		for n := range uint64(portals.MaxPending + 10) {
			go h.arrivePut(net, n, 4)
			synctest.Wait()
		}
		if n := net.holding(); n != 0 {
			t.Errorf("%d messages are held", n)
		}
		close(gate)
		synctest.Wait()
		in.Close()
	})
}

// TestMayBlock: a handler that may block stops neither the driver that delivers messages nor
// the goroutine that sends one. Events are delivered one at a time and in order, and as many
// of them may wait as with other handlers.
func TestMayBlock(t *testing.T) {
	slowly(t, portals.MD{Options: portals.MayBlock}, func(t *testing.T, s *slow) {
		if !s.returned {
			t.Error("the message that the handler looks at keeps its connection from being read")
		}
		s.put(portals.MaxPending + 3)
		if n := s.net.holding(); n != 3 {
			t.Errorf("%d messages are held, want 3", n)
		}
		if err := s.MDUnlink(s.md); err != nil {
			t.Error(err)
		}
		s.open()
		s.wantEvents(1, 1+portals.MaxPending)
		if last := s.events[len(s.events)-1]; last.Kind != portals.EventUnlink {
			t.Errorf("the last event is %v", last)
		}
	})
}

// TestBackPressureOrder: many connections bring messages at the same time, and some messages of each
// connection are held. All are handled, those of each connection in their order.
func TestBackPressureOrder(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	const conns, each = 8, 2 * portals.MaxPending
	var next [conns]uint64
	handled := make(chan struct{}, conns*each)
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: func(e *portals.Event) {
			conn, n := e.HdrData>>32, e.HdrData&(1<<32-1)
			if next[conn] != n {
				t.Errorf("connection %d: message %d, want %d", conn, n, next[conn])
			}
			next[conn] = n + 1
			if n%16 == 0 {
				runtime.Gosched()
			}
			handled <- struct{}{}
		},
	})
	for conn := range uint64(conns) {
		go func() {
			for n := range uint64(each) {
				_ = net.arrive(putHeader(0, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, HdrData: conn<<32 | n}), nil)
			}
		}()
	}
	for range conns * each {
		<-handled
	}
	if n := net.holding(); n != 0 {
		t.Errorf("%d held", n)
	}
}
