package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestForged: messages in the name of an origin, or of a node that is not a member, change
// nothing, and each kind is counted.
func TestForged(t *testing.T) {
	w, _ := tallied(t, 5, nil, nil)
	w.await(w.send(0, "x"))
	h := w.hosts[3]
	origin := h.m.group.byID[w.hosts[0].m.self].stream
	good := wire.Datagram{
		Group: testGroup, Version: origin.roster.version, Origin: origin.number(), Length: 4, Seq: origin.head, Count: 1, Size: 4,
		Stable: origin.head, First: origin.first,
	}
	for _, tt := range []struct {
		name    string
		from    sim.NodeID
		change  func(d *wire.Datagram)
		counter func(s *Stats) uint64
	}{
		{"another member's", 1, func(*wire.Datagram) {}, func(s *Stats) uint64 { return s.Forged }},
		{"another group's", 0, func(d *wire.Datagram) { d.Group++ }, func(s *Stats) uint64 { return s.OtherGroup }},
		{"a stranger's", 77, func(*wire.Datagram) {}, func(s *Stats) uint64 { return s.Stranger }},
		{"of no member", 0, func(d *wire.Datagram) { d.Origin = 99 }, func(s *Stats) uint64 { return s.Stranger }},
		{"beyond the window", 0, func(d *wire.Datagram) { d.Seq += 1000 }, func(s *Stats) uint64 { return s.Window }},
		{"a fragment too short", 0, func(d *wire.Datagram) { d.Length = 5 }, func(s *Stats) uint64 { return s.Inconsistent }},
		{"fragments too many", 0, func(d *wire.Datagram) { d.Count = 2 }, func(s *Stats) uint64 { return s.Inconsistent }},
		{"of an old version", 0, func(d *wire.Datagram) { d.Version.Counter = 1 }, func(s *Stats) uint64 { return s.OldVersion }},
		{"of our own", 1, func(d *wire.Datagram) { d.Origin, d.Flags = h.m.Status().Number, wire.FlagRepair }, func(s *Stats) uint64 { return s.Duplicates }},
		{"no message", 0, func(d *wire.Datagram) { d.Index = 3 }, func(s *Stats) uint64 { return s.Malformed }},
	} {
		d := good
		tt.change(&d)
		before, got := tt.counter(&h.m.stats), len(h.got)
		deliver(w, h, Arrival, tt.from, append(d.AppendTo(nil), "evil"...))
		if tt.counter(&h.m.stats) != before+1 || len(h.got) != got || origin.head != good.Seq {
			t.Errorf("%s: %+v", tt.name, h.m.stats)
		}
	}
	root := w.hosts[0]
	for _, tt := range []struct {
		name    string
		from    sim.NodeID
		e       wire.Entry
		counter func(s *Stats) uint64
	}{
		{"an ACK of what was not sent", 4, wire.Entry{Kind: wire.Ack, First: good.Seq, Count: 1}, func(s *Stats) uint64 { return s.Future }},
		{"an ACK of a grandchild", 3, wire.Entry{Kind: wire.Ack, First: good.Seq - 1, Count: 1}, func(s *Stats) uint64 { return s.Stray }},
		{"an ACK of a stranger", 77, wire.Entry{Kind: wire.Ack, First: good.Seq - 1, Count: 1}, func(s *Stats) uint64 { return s.Stranger }},
		{"an absurd range", 4, wire.Entry{Kind: wire.Need, First: wire.MaxSeq + 1, Count: 1}, func(s *Stats) uint64 { return s.Malformed }},
	} {
		tt.e.Origin, tt.e.Version = good.Origin, good.Version
		before := tt.counter(&root.m.stats)
		deliver(w, root, Control, tt.from, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{tt.e}))
		if tt.counter(&root.m.stats) != before+1 {
			t.Errorf("%s: %+v", tt.name, root.m.stats)
		}
	}
	w.await(w.send(0, "y"))
	w.want("y", w.all()...)
}

// deliver makes a message arrive at a node, as if from the network.
func deliver(w *world, h *host, kind InputKind, from sim.NodeID, b []byte) {
	var out sim.Output[*packet]
	h.step(w.net.Now(), h.m.Step, Input{Kind: kind, From: hostNID(from), Data: b}, &out)
	h.check(Input{}, w.net.Now())
}

// TestFreed: a request for payload that is stable is answered with that fact
// (docs/spec, multicast §C.4). A member that has the payload sends it to each member that
// asks, at most once in half a round trip.
func TestFreed(t *testing.T) {
	w, c := tallied(t, 4, nil, nil)
	w.await(w.send(0, "x"))
	w.run(time.Second)
	h := w.hosts[2]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	ask := s.entry(wire.Need, s.head-1, 1)
	var answer []wire.Entry
	w.tap = func(_, _ sim.NodeID, p *packet) { answer = append(answer, entries(p)...) }
	deliver(w, h, Control, 3, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{ask}))
	if len(answer) != 1 || answer[0].Kind != wire.Stable || answer[0].First != s.head || c.repairs > 0 {
		t.Errorf("%+v, %+v", answer, c)
	}
}

// TestHeldBound: RM-A9: the messages that wait for a list are bounded, and one sender has half
// of the room.
func TestHeldBound(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w, _ := tallied(t, 3, nil, nil)
	h := w.hosts[1]
	v := h.m.group.latest().version
	v.Counter += 100
	d := wire.Datagram{Group: testGroup, Version: v, Origin: 1, Length: 4, Seq: 9, Count: 1, Size: 4, Stable: 9, First: 9}
	b := append(d.AppendTo(nil), "evil"...)
	for _, from := range []sim.NodeID{0, 2, 5} {
		for range maxHeld {
			deliver(w, h, Arrival, from, b)
		}
		if from == 0 && h.m.stats.Held != maxHeld/2 {
			t.Errorf("%d messages of one sender are held", h.m.stats.Held)
		}
	}
	if h.m.stats.Held != maxHeld || h.m.stats.Unknown != 2*maxHeld {
		t.Errorf("%+v", h.m.stats)
	}
	w.await(w.send(0, "x"))
	w.want("x", w.all()...)
	w.run(4 * time.Second)
	if len(h.m.held) > 0 {
		t.Errorf("%d are held for ever", len(h.m.held))
	}
}
