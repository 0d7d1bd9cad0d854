package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// later makes a group in which an origin, node 0, has left the first version. Its present version is n versions
// later; it has released two messages there, and the messages "c" and "d" are under way. Node 7 has delivered
// "c" and "d". All nodes still know the first version, because node 5 keeps another origin from leaving it. The
// function heal ends that, and lets "c" and "d" be released.
func later(t *testing.T, n int) (w *world, left *roster, heal func()) {
	t.Helper()
	w = newWorld(t, 8+n, nil)
	w.form(8)
	w.await(w.send(0, "before"))
	left = w.hosts[0].m.sender.stream.roster
	held, other := false, w.hosts[1].m.Status().Number
	w.loss = func(from, _ sim.NodeID, p *packet) bool {
		return from == 5 && slices.ContainsFunc(entries(p), func(e wire.Entry) bool { return e.Origin == other }) || held && from == 6 && has(p, wire.Ack)
	}
	w.send(1, "holds the version")
	for i := range n {
		w.net.Command(sim.NodeID(8+i), "join")
		w.run(time.Second)
		w.await(w.send(0, fmt.Sprint("a", i)))
		w.await(w.send(0, fmt.Sprint("b", i)))
	}
	held = true
	w.send(0, "c")
	w.send(0, "d")
	w.run(4 * oneWay)
	return w, left, func() { w.loss = nil }
}

// isLater checks that node 7 is in the present version of the origin, not in the version that the origin has
// left (the parameter left), and has delivered datagrams that are not released yet. Both nodes must still
// know the version that was left.
func isLater(t *testing.T, w *world, left *roster) {
	t.Helper()
	o, at := w.hosts[0].m.sender.stream, w.hosts[7].m.group.byID[w.hosts[0].m.self].stream
	if at.roster.version != o.roster.version || at.roster.version == left.version || o.stable <= o.base || at.next <= o.stable {
		t.Fatalf("node 7 is in %v at %d, the origin in %v at %d", at.roster.version, at.next, o.roster.version, o.stable)
	}
	if w.hosts[7].m.roster(left.version) == nil || w.hosts[0].m.roster(left.version) == nil {
		t.Fatal("the version that the origin has left is not known any more")
	}
}

// TestAskedOfLeftVersion: RM-39: a member in a later version is polled about a version that the origin has
// left, and about messages of that version which never existed. The member asks the origin. The honest answer
// does not make the member return to that version, and nothing is delivered twice.
func TestAskedOfLeftVersion(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	for _, n := range []int{1, 2} {
		for name, guessed := range map[string]bool{"heard from the origin": false, "heard by multicast only": true} {
			t.Run(fmt.Sprint(name, ", ", n), func(t *testing.T) {
				w, left, heal := later(t, n)
				isLater(t, w, left)
				at := w.hosts[7].m.group.byID[w.hosts[0].m.self].stream
				at.guessed = guessed
				e := wire.Entry{Kind: wire.Poll, Origin: left.number(left.rankOf(hostNID(0))), Version: left.version, First: at.next, Count: 1, Stable: at.next}
				w.inject(7, 3, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
				w.run(4 * oneWay)
				isLater(t, w, left)
				heal()
				w.await(w.send(0, "e"))
				for _, text := range []string{"a0", "b0", "c", "d", "e"} {
					w.want(text, 0, 1, 2, 3, 4, 5, 6, 7)
				}
				if left := w.hosts[7].m.stats.LeftOut; left > 0 {
					t.Errorf("node 7 was left behind %d times", left)
				}
			})
		}
	}
}

// TestLeaverAsksOfLeftVersion: RM-A11, RM-17: a leaver, which still serves a version that an origin has
// left, asks the origin about it. The answer says where that version ended: the leaver has no part in
// the messages of the later one, and misses none.
func TestLeaverAsksOfLeftVersion(t *testing.T) {
	spec.Covers(t, "RM-17", "RM-A11")
	w, _ := tallied(t, 8, nil, nil)
	w.await(w.send(0, "before"))
	other := w.hosts[1].m.Status().Number
	w.loss = func(from, to sim.NodeID, p *packet) bool { // no heartbeat tells node 4 that the first message is released
		return from == 0 && to == 4 && p.cast || from == 5 && slices.ContainsFunc(entries(p), func(e wire.Entry) bool { return e.Origin == other })
	}
	s := w.send(1, "holds the version")
	h, o := w.hosts[4], w.hosts[0].m.sender.stream
	at := h.m.group.byID[w.hosts[0].m.self].stream
	w.net.Command(4, "leave")
	w.run(200 * time.Millisecond)
	w.await(w.send(0, "a"))
	if o.roster.version == at.roster.version || o.stable == o.base || at.stable == at.head || h.m.state != leaving {
		t.Fatalf("the origin is in %v at %d, node 4 in %v at %d", o.roster.version, o.stable, at.roster.version, at.stable)
	}
	w.run(5 * time.Second)
	if at.stable != o.base || h.m.stats.LeftOut > 0 {
		t.Errorf("node 4 is at %d, want %d; left behind %d times", at.stable, o.base, h.m.stats.LeftOut)
	}
	w.loss = nil
	w.await(s)
}

// TestLeaverUnfinished: RM-A11: a member leaves after LeaveAfter, although its message is not released. It tells the manager,
// at once or, if that is lost, by its farewell. The other one of two members then goes on alone.
func TestLeaverUnfinished(t *testing.T) {
	spec.Covers(t, "RM-A11")
	for _, lost := range []bool{false, true} {
		w := parted(t, 2, 1)
		w.rejoin = false
		h := w.hosts[1]
		w.loss = func(from, _ sim.NodeID, p *packet) bool {
			return from == 0 && p.kind == Control || from == 1 && lost && h.m.state == out
		}
		s := w.send(1, "x")
		w.net.Command(1, "leave")
		w.run(12 * time.Second)
		if !errors.Is(s.lost, ErrUnfinished) {
			t.Fatal(s.lost)
		}
		if over, o := h.m.Farewell(); lost && !over {
			w.order(0, 1, &o)
			w.run(time.Second)
		}
		w.endedAt(1)
		w.await(w.send(0, "y"))
	}
}

// TestLeaverServesLonger: RM-A11, RM-2: a member that leaves lacks a message, and serves messages for longer than the
// manager's LeaveAfter. As long as the manager hears it, the message waits for it.
func TestLeaverServesLonger(t *testing.T) {
	spec.Covers(t, "RM-A11", "RM-2")
	w, _ := tallied(t, 5, nil, func(w *world, _ *sim.Config[*packet]) { w.cfg.LeaveAfter = time.Minute })
	w.loss = func(_, to sim.NodeID, p *packet) bool { return to == 4 && p.kind != Instructed }
	s := w.send(0, "x")
	w.net.Command(4, "leave")
	w.run(30 * time.Second)
	if s.done || w.hosts[4].m.state != leaving {
		t.Fatalf("node 4 is %v, %+v", w.hosts[4].m.state, s)
	}
	w.loss = nil
	w.await(s)
	w.want("x", w.all()...)
	if len(s.failed) > 0 {
		t.Errorf("failed: %v", s.failed)
	}
}

// TestLeaverDies: RM-A11: a member dies while it leaves, and the manager is not told. After LeaveAfter the member counts as
// ended, but not while the manager hears too few members.
func TestLeaverDies(t *testing.T) {
	spec.Covers(t, "RM-A11")
	for _, alone := range []bool{false, true} {
		w, _ := tallied(t, 5, nil, nil)
		w.loss = func(_, to sim.NodeID, p *packet) bool { return to == 4 && p.kind != Instructed }
		s := w.send(0, "x")
		w.net.Command(4, "leave")
		w.run(500 * time.Millisecond)
		w.net.Kill(4)
		if alone {
			w.net.Partition(sim.Nodes(0))
		}
		w.run(11 * time.Second)
		if g := w.hosts[0].g; s.done == alone || g.alone != alone || (len(g.leavers) > 0) != alone {
			t.Errorf("alone %v: %+v, %d leave", g.alone, s, len(g.leavers))
		}
		w.net.Heal()
		if w.await(s); len(s.failed) != 1 || s.lost != nil {
			t.Errorf("failed %v, %v", s.failed, s.lost)
		}
	}
}

// TestLeaverJoining: RM-A11: a node gives up joining when the manager has listed it already. It tells the manager, which
// does not wait until the node acknowledges the list.
func TestLeaverJoining(t *testing.T) {
	spec.Covers(t, "RM-A11")
	w := newWorld(t, 4, nil)
	w.form(3)
	g, h := w.hosts[0].g, w.hosts[3]
	w.net.Command(3, "join")
	for len(g.latest.Members) < 4 {
		w.run(oneWay / 4)
	}
	w.net.Command(3, "leave")
	w.run(0)
	over, o := h.m.Farewell()
	if h.m.state != out || over {
		t.Fatalf("node 3 is %v, its manager knows it: %v", h.m.state, over)
	}
	w.order(0, 3, &o)
	w.run(time.Second)
	if g.find(h.m.self) != nil || g.usable != g.version {
		t.Errorf("%d members, usable %v of %v", len(g.members), g.usable, g.version)
	}
}
