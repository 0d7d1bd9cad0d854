package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// unread holds back the multicast datagrams to a node until read is called, as in a socket that
// the node does not read.
func unread(w *world, id sim.NodeID) (read func()) {
	var kept []injection
	loss := w.loss
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		if to != id || !p.cast {
			return loss != nil && loss(from, to, p)
		}
		kept = append(kept, injection{from, p})
		return true
	}
	return func() {
		w.loss = loss
		for _, in := range kept {
			w.inject(id, in.from, in.p)
		}
	}
}

// send32 makes the first node send 32 messages.
func send32(w *world, round int) {
	for i := range 32 {
		w.net.Command(0, fmt.Sprint("m", round, " ", i))
	}
}

// TestUnreadSocket: G-RM-8 and RM-A5: three times the thread of a member gets no core for 20 ms and does not read the
// multicast socket. During this delay its children acknowledge datagrams that wait in its socket. At most one payload
// is resent needlessly; once the delay has been measured, none is.
func TestUnreadSocket(t *testing.T) {
	spec.Covers(t, "RM-A5", "G-RM-8")
	w, c := tallied(t, 8, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 32 })
	for round, repairs := range []int{1, 1, 1} {
		read := unread(w, 4)
		send32(w, round)
		w.run(20 * time.Millisecond)
		read()
		w.run(time.Second)
		if c.repairs > repairs {
			t.Errorf("round %d: %+v", round, c)
		}
		for i := range 32 {
			w.want(fmt.Sprint("m", round, " ", i), w.all()...)
		}
	}
	if h := w.hosts[4]; h.m.longGrace() < 15*time.Millisecond || h.m.longGrace() > maxGrace || h.m.grace() > time.Millisecond {
		t.Errorf("the graces are %v and %v", h.m.grace(), h.m.longGrace())
	}
	w.run(5 * time.Minute)
	if h := w.hosts[4]; h.m.longGrace() != h.m.grace() {
		t.Errorf("the long grace is still %v", h.m.longGrace())
	}
}

// TestTailLost: RM-3: the last datagrams of a window are lost at an inner node. The node learns of them only from its
// children, until the origin's tail probe comes by multicast.
func TestTailLost(t *testing.T) {
	spec.Covers(t, "RM-3")
	w, c := tallied(t, 8, func(to sim.NodeID, d *wire.Datagram) bool { return to == 4 && d.Seq >= 10 && d.Count > 0 }, func(w *world, _ *sim.Config[*packet]) {
		w.manager.Window = 32
	})
	began := w.net.Now()
	for i := range 20 {
		w.net.Command(0, fmt.Sprint("m", i))
	}
	var took time.Duration
	w.onDeliver = func(h *host, _ got) {
		if h.id == 4 {
			took = w.net.Now() - began
		}
	}
	w.run(time.Second)
	for i := range 20 {
		w.want(fmt.Sprint("m", i), w.all()...)
	}
	if c.repairs != 2 { // one repair of a single datagram, which may only be late, and one of the other ten
		t.Errorf("%+v", c)
	}
	const rtt = 2 * oneWay
	if limit := 2*rtt + oneWay + w.hosts[4].m.grace() + rtt; took > limit {
		t.Errorf("all there after %v, want %v", took, limit)
	}
}

// TestSlowMember: G-RM-8: a member that acknowledges late gets no payload again, and its
// parent, which has measured the delay, does not poll it any more. Timeouts of other members
// stay as they were.
func TestSlowMember(t *testing.T) {
	spec.Covers(t, "G-RM-8")
	w, c := tallied(t, 8, nil, nil)
	for i := range 40 {
		s := w.send(0, fmt.Sprint("m", i))
		w.net.Pause(7)
		w.run(60 * time.Millisecond)
		w.net.Resume(7)
		w.await(s)
		if i == 20 {
			c.polls = 0
		}
	}
	m := w.hosts[6].m
	if c.repairs > 0 || c.polls > 0 {
		t.Errorf("%+v", c)
	}
	if p := m.patience(1, 0); p < 60*time.Millisecond || p > 80*time.Millisecond {
		t.Errorf("patience %v", p)
	}
	if p := m.patience(3, 0); p > 20*time.Millisecond {
		t.Errorf("patience with others %v", p)
	}
	for range 10 {
		m.acks[2].sample(time.Hour)
	}
	if p := m.patience(2, 0); p != maxSpread {
		t.Errorf("patience %v with answers after an hour", p)
	}
}

// TestAckLost: RM-24 and G-RM-8: the first acknowledgements of a member are lost. A later one also
// acknowledges what these did, so the parent neither polls nor resends.
func TestAckLost(t *testing.T) {
	spec.Covers(t, "RM-24", "G-RM-8")
	w, c := tallied(t, 8, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 32 })
	n := 0
	w.loss = func(from, _ sim.NodeID, p *packet) bool {
		if from == 6 && has(p, wire.Ack) {
			n++
		}
		return from == 6 && has(p, wire.Ack) && n < 3
	}
	for i := range 30 {
		w.net.Command(0, fmt.Sprint("m", i))
		w.run(oneWay / 2)
	}
	w.run(time.Second)
	for i := range 30 {
		w.want(fmt.Sprint("m", i), w.all()...)
	}
	if n < 4 || c.polls > 0 || c.repairs > 0 {
		t.Errorf("%d ACK messages, %+v", n, c)
	}
	if s := w.hosts[0].m.sender.stream; s.stable != s.head {
		t.Errorf("released to %d of %d", s.stable, s.head)
	}
}

// TestNeedlessRepair: RM-A21, RFC 4015: a member gets a datagram by multicast after it has got the same datagram as a
// repair. If the origin knew of the repair, it has lowered its limit of datagrams in flight. Then it is told that the
// repair was needless, and restores the limit. If it did not know of the repair, it is not told either that the repair
// was needless.
func TestNeedlessRepair(t *testing.T) {
	spec.Covers(t, "RM-A21")
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			w, c := tallied(t, 8, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 16 })
			w.await(w.send(0, "first"))
			p := &w.hosts[0].m.sender
			before := p.limit
			read := unread(w, 6)
			s := w.send(0, "x")
			if !told {
				w.net.Pause(7) // node 7 is silent, so node 6 cannot acknowledge
			}
			w.run(30 * time.Millisecond)
			if c.repairs != 1 || told != (p.limit == before*3/4) {
				t.Fatalf("%+v, limit %d of %d", c, p.limit, before)
			}
			read()
			w.net.Resume(7)
			w.await(s)
			w.run(10 * time.Millisecond)
			if p.limit != before || w.hosts[6].m.stats.Needless != 1 || told != (w.hosts[0].m.stats.Needless == 1) {
				t.Errorf("limit %d of %d, %d needless repairs at the member, %d at the origin",
					p.limit, before, w.hosts[6].m.stats.Needless, w.hosts[0].m.stats.Needless)
			}
		})
	}
}

// TestNeedlessForged: a member that reports needless repairs again and again does not raise
// the origin's limit above what it was.
func TestNeedlessForged(t *testing.T) {
	w, _ := tallied(t, 4, onceFor(2, 1), func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 16 })
	p := &w.hosts[0].m.sender
	before := p.limit
	w.await(w.send(0, "x"))
	if p.limit != before*3/4 {
		t.Fatalf("limit %d of %d", p.limit, before)
	}
	s := p.stream
	e := wire.Entry{Kind: wire.Ack, Flags: wire.FlagNeedless, Origin: s.number(), Version: s.roster.version, First: 1, Count: 1, Stable: 1}
	for range 100 {
		w.inject(0, 2, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	}
	if p.limit != before {
		t.Errorf("limit %d of %d", p.limit, before)
	}
}

// TestRepeatedNeed: RM-20: a child that requests payload again and again gets it once in half
// a round trip.
func TestRepeatedNeed(t *testing.T) {
	spec.Covers(t, "RM-20")
	w, c := tallied(t, 8, nil, nil)
	w.net.Pause(7) // node 7 is silent, so the message is not released
	w.send(0, "x")
	w.run(2 * time.Millisecond)
	h := w.hosts[6]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	var asks []wire.Entry
	for range wire.MaxEntries {
		asks = append(asks, s.entry(wire.Need, s.stable, 1))
	}
	ask := &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, asks), false}
	for range 10 {
		w.inject(6, 7, ask)
	}
	if c.repairs != 1 || h.m.stats.Repeated != 10*wire.MaxEntries-1 {
		t.Errorf("%+v, %+v", c, h.m.stats)
	}
	w.run(h.m.rtt.estimate(&h.m.cfg))
	w.inject(6, 7, ask)
	if c.repairs != 2 {
		t.Errorf("later: %+v", c)
	}
}

// TestRepairOfWhatIsThere: if a member gets a repair of a datagram that it has acknowledged,
// it acknowledges the datagram again, because the first acknowledgement did not reach its
// parent (docs/spec, multicast §C.4).
func TestRepairOfWhatIsThere(t *testing.T) {
	w, _ := tallied(t, 8, nil, nil)
	w.send(0, "x")
	w.run(oneWay + time.Microsecond)
	h := w.hosts[7]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	d := s.header(s.stable, wire.FlagRepair)
	var answer []wire.Entry
	w.tap = func(from, to sim.NodeID, p *packet) {
		if from == 7 && to == 6 {
			answer = append(answer, entries(p)...)
		}
	}
	w.inject(7, 6, &packet{Arrival, append(d.AppendTo(nil), 'x'), false})
	if len(answer) != 1 || answer[0].Kind != wire.Ack || answer[0].Flags != wire.FlagAnswer || answer[0].First != s.stable || answer[0].Count != 1 {
		t.Errorf("%+v", answer)
	}
}
