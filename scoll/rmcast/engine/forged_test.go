package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// begins returns a message that says where an origin begins a version: a multicast in the name of
// the origin, a repair, or an entry of another member.
func begins(kind string, v wire.Version, number uint32, base uint64) *packet {
	e := wire.Entry{Kind: wire.Query, Origin: number, Version: v, First: base, Stable: base}
	d := wire.Datagram{Group: testGroup, Version: v, Origin: number, Seq: base, Stable: base, First: base}
	switch kind {
	case "multicast":
		return &packet{Arrival, d.AppendTo(nil), true}
	case "repair":
		d.Flags = wire.FlagRepair
		return &packet{Arrival, d.AppendTo(nil), false}
	}
	return &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false}
}

// TestFirstContactForged: RM-39: the first message that a member gets about an origin is forged, and says
// that the origin has released many messages. The origin's messages arrive all the same.
func TestFirstContactForged(t *testing.T) {
	spec.Covers(t, "RM-39")
	for kind, from := range map[string]sim.NodeID{"multicast": 1, "repair": 3, "entry": 3} {
		t.Run(kind, func(t *testing.T) {
			w, _ := tallied(t, 5, nil, nil)
			r := w.hosts[2].m.group.latest()
			number := r.number(r.rankOf(hostNID(1)))
			w.inject(2, from, begins(kind, r.version, number, 1<<40))
			w.run(time.Second)
			w.await(w.send(1, "y"))
			w.want("y", w.all()...)
		})
	}
}

// TestFirstContactEarly: RM-39: a member joins late. The first message that it gets about an origin is
// forged, and says that the origin has released nothing. The member then learns from the origin itself
// which datagrams are released, and does not count as left behind.
func TestFirstContactEarly(t *testing.T) {
	spec.Covers(t, "RM-39")
	w := newWorld(t, 5, nil)
	w.form(4)
	for range 9 {
		w.await(w.send(1, "before"))
	}
	w.net.Command(4, "join")
	w.run(2 * time.Second)
	r := w.hosts[4].m.group.latest()
	number := r.number(r.rankOf(hostNID(1)))
	w.inject(4, 1, begins("multicast", r.version, number, 1))
	w.run(time.Second)
	w.await(w.send(1, "y"))
	w.want("y", w.all()...)
	if at := w.hosts[4].m.group.byID[w.hosts[1].m.self].stream; at.lost {
		t.Error("the member believes that it was left behind")
	}
}

// ahead makes a group in which an origin has a message in flight. Node 7 hears nothing of the message until
// heal is called. While the message is in flight, the origin cannot begin the versions of n later lists, which
// node 7 knows already.
func ahead(t *testing.T, origin sim.NodeID, n int) (w *world, s *sent, heal func()) {
	t.Helper()
	w = newWorld(t, 8+n, nil)
	w.form(8)
	w.await(w.send(0, "before"))
	deaf := true
	w.loss = func(_, to sim.NodeID, p *packet) bool { return deaf && to == 7 && p.kind != Instructed }
	s = w.send(origin, "x")
	for i := range n {
		w.net.Command(sim.NodeID(8+i), "join")
		w.run(200 * time.Millisecond)
	}
	if len(w.hosts[7].m.group.rosters) < n+1 || s.done {
		t.Fatalf("node 7 knows of %d lists", len(w.hosts[7].m.group.rosters))
	}
	return w, s, func() { deaf = false }
}

// TestVersionForged: RM-39: a member believes a forged message that says where an origin begins a version,
// because the member expects just this sequence number. When messages of the previous version arrive, the
// member returns to the previous version.
func TestVersionForged(t *testing.T) {
	spec.Covers(t, "RM-39")
	for kind, from := range map[string]sim.NodeID{"multicast": 0, "repair": 3, "entry": 3} {
		t.Run(kind, func(t *testing.T) {
			w, s, heal := ahead(t, 0, 1)
			o, r := w.hosts[0].m.sender.stream, w.hosts[7].m.group.latest()
			w.inject(7, from, begins(kind, r.version, o.number(), s.seq))
			if at := w.hosts[7].m.group.byID[w.hosts[0].m.self].stream; at.roster != r {
				t.Fatal("node 7 does not believe it")
			}
			heal()
			w.await(s)
			w.want("x", 0, 1, 2, 3, 4, 5, 6, 7)
		})
	}
}

// TestVersionsForged: RM-39: forged multicasts make a member enter two later versions. In the first of these,
// the attacker sends a message with the sequence number of a message that the origin has sent and that the
// member does not have. The member does not acknowledge the origin's message before it has got it.
func TestVersionsForged(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	w, s, heal := ahead(t, 0, 2)
	o, rosters := w.hosts[0].m.sender.stream, w.hosts[7].m.group.rosters
	v := rosters[len(rosters)-2].version
	w.inject(7, 0, begins("multicast", v, o.number(), s.seq))
	d := wire.Datagram{Group: testGroup, Version: v, Origin: o.number(), Length: 4, Seq: s.seq, Count: 1, Size: 4, Stable: s.seq, First: s.seq}
	w.inject(7, 0, &packet{Arrival, append(d.AppendTo(nil), "evil"...), true})
	w.inject(7, 0, begins("multicast", rosters[len(rosters)-1].version, o.number(), s.seq+1))
	if at := w.hosts[7].m.group.byID[w.hosts[0].m.self].stream; at.roster != rosters[len(rosters)-1] || at.next != s.seq+1 {
		t.Fatal("node 7 does not believe it")
	}
	heal()
	w.await(s)
	w.want("x", 0, 1, 2, 3, 4, 5, 6, 7)
}

// TestFirstContactLater: RM-39: the first message that a member gets about an origin is forged, and says that
// the origin has begun a version which it has not begun. The message of the present version arrives.
func TestFirstContactLater(t *testing.T) {
	spec.Covers(t, "RM-39")
	for kind, from := range map[string]sim.NodeID{"multicast": 1, "repair": 3, "entry": 3} {
		t.Run(kind, func(t *testing.T) {
			w, s, heal := ahead(t, 1, 1)
			o, r := w.hosts[1].m.sender.stream, w.hosts[7].m.group.latest()
			w.inject(7, from, begins(kind, r.version, o.number(), 1))
			heal()
			w.await(s)
			w.want("x", 0, 1, 2, 3, 4, 5, 6, 7)
		})
	}
}

// TestQueryNotBegun: RM-39: an attacker makes a member query an origin about a version that the origin
// has not begun. The origin answers with its present version, and the member enters that version.
func TestQueryNotBegun(t *testing.T) {
	spec.Covers(t, "RM-39")
	w, s, heal := ahead(t, 1, 1)
	o, r := w.hosts[1].m.sender.stream, w.hosts[7].m.group.latest()
	heal()
	w.inject(7, 1, begins("multicast", r.version, o.number(), 1<<40))
	w.run(4 * oneWay)
	if at := w.hosts[7].m.group.byID[w.hosts[1].m.self].stream; at.roster == nil || at.roster.version != o.roster.version {
		t.Error("the origin does not answer")
	}
	w.await(s)
	w.want("x", 0, 1, 2, 3, 4, 5, 6, 7)
}
