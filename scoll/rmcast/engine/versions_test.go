package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestTrees: RM-7, RM-10, RM-11 and RM-A2: for each origin, every member derives the same tree
// from the list. Parents and children agree everywhere, and the tree reaches all members.
func TestTrees(t *testing.T) {
	spec.Covers(t, "RM-7", "RM-10", "RM-11", "RM-A2")
	const n = 13
	w, _ := tallied(t, n, nil, nil)
	for origin := range sim.NodeID(n) {
		w.await(w.send(origin, fmt.Sprint("m", origin)))
	}
	for origin, h := range w.hosts {
		reached := 0
		for _, other := range w.hosts {
			s := other.m.group.byID[h.m.self].stream
			if s.isRoot() != (origin == int(other.id)) {
				t.Errorf("origin %d: node %d has parent %d", origin, other.id, s.parent)
			}
			for _, k := range s.children {
				reached++
				child := w.hosts[hostID(s.roster.peers[k.rank].id.NID)].m.group.byID[h.m.self].stream
				if child.parent != s.roster.self {
					t.Errorf("origin %d: rank %d is a child of %d, and thinks of %d", origin, k.rank, s.roster.self, child.parent)
				}
			}
		}
		if reached != n-1 {
			t.Errorf("origin %d: %d members have a parent", origin, reached)
		}
	}
}

// TestManySources: RM-9: eight sources send a thousand messages in all, at the same time. Every member gets
// all of them, and none is resent.
func TestManySources(t *testing.T) {
	spec.Covers(t, "RM-9")
	const each = 125
	w, _ := tallied(t, 8, nil, func(w *world, _ *sim.Config[*packet]) { w.cfg.FIFO = true })
	for i := range each {
		for id := range sim.NodeID(8) {
			w.net.Command(id, fmt.Sprint("m", i, "of", id))
		}
		w.run(time.Millisecond)
	}
	w.run(2 * time.Second)
	for _, h := range w.hosts {
		if len(h.got) != 8*each || h.m.stats.Repairs > 0 {
			t.Errorf("node %d has %d messages, %+v", h.id, len(h.got), h.m.stats)
		}
	}
	ordered(t, w)
}

// TestJoinWhileSending: RM-12, RM-14, RM-15, RM-16, RM-17, RM-29 and RM-A10: a node joins while
// messages are sent. It gets the list, with its own number, before the first message. It gets
// all messages from the join on and none from before. Old lists are dropped.
func TestJoinWhileSending(t *testing.T) {
	spec.Covers(t, "RM-12", "RM-14", "RM-15", "RM-16", "RM-17", "RM-29", "RM-A10")
	w := newWorld(t, 6, func(w *world, _ *sim.Config[*packet]) { w.cfg.FIFO = true })
	w.form(5)
	w.onDeliver = func(h *host, g got) {
		if h.id == 5 && len(h.versions) == 0 {
			t.Error("a message before the list")
		}
	}
	versions := map[wire.Version]bool{}
	w.onRelease = func(_ *host, s *sent) {
		versions[s.version] = true
		for _, p := range w.lists[s.version] {
			w.want(s.data, hostID(p.id.NID))
		}
		if n := w.hosts[5].delivered(s.data); n > 0 && !slices.ContainsFunc(w.lists[s.version], func(p *peer) bool { return p.id.NID == hostNID(5) }) {
			t.Errorf("%s of version %v reached one that is not in it", s.data, s.version)
		}
	}
	for i := range 100 {
		if i == 50 {
			w.net.Command(5, "join")
		}
		w.net.Command(sim.NodeID(i%3), fmt.Sprint("m", i))
		w.run(time.Millisecond)
	}
	w.run(2 * time.Second)
	joiner := w.hosts[5]
	if st := joiner.m.Status(); st.Number != 6 || len(st.Members) != 6 || len(versions) != 2 {
		t.Errorf("%+v, %d versions were used", st, len(versions))
	}
	if joiner.delivered("m99") != 1 || joiner.delivered("m0") != 0 {
		t.Errorf("the joiner has %d messages", len(joiner.got))
	}
	for _, h := range w.hosts {
		if len(h.m.group.rosters) != 1 {
			t.Errorf("node %d keeps %d lists", h.id, len(h.m.group.rosters))
		}
	}
	ordered(t, w)
}

// TestUnknownVersion: RM-29 and RM-A9: if the list of a datagram's version has not come yet,
// the member holds the datagram and asks the manager. It delivers the datagram when it has the
// list.
func TestUnknownVersion(t *testing.T) {
	spec.Covers(t, "RM-29", "RM-A9")
	w := newWorld(t, 4, nil)
	w.form(3)
	w.run(time.Second)
	// The list to node 2 gets lost and its acknowledgement is forged, so no other node knows of the loss.
	lost := 0
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		o, err := wire.ParseOrder(p.data)
		if err != nil || o.Kind != wire.OrderList || to != 2 || lost > 0 {
			return false
		}
		lost++
		ack := wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: o.Epoch, Version: o.Version, Oldest: o.Oldest, Incarnation: o.Incarnation, MTU: 4096}
		w.net.At(w.net.Now()+2*oneWay, func() {
			var out Output
			w.hosts[0].g.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(2), Data: ack.AppendTo(nil)}, &out)
		})
		return true
	}
	w.net.Command(3, "join")
	w.run(100 * time.Millisecond)
	for !slices.ContainsFunc(w.hosts[1].versions, func(v wire.Version) bool { return v == w.hosts[0].g.version }) {
		w.run(10 * time.Millisecond)
	}
	w.hosts[0].g.usable = w.hosts[0].g.version
	w.hosts[1].m.usable = w.hosts[0].g.version // as if a manager had told node 1 that it may use this version
	s := w.send(1, "early")
	w.await(s)
	w.want("early", w.all()...)
	if st := w.hosts[2].m.stats; lost != 1 || st.Held == 0 || st.Repaired > 0 {
		t.Errorf("%d lists were lost, %+v", lost, st)
	}
}

// TestNotMember: RM-A10: a node that is on no list delivers nothing and sends nothing.
func TestNotMember(t *testing.T) {
	spec.Covers(t, "RM-A10")
	w, c := tallied(t, 4, nil, nil)
	w.net.Command(3, "leave")
	w.run(2 * time.Second)
	if h := w.hosts[3]; !slices.ContainsFunc(h.gone, func(err error) bool { return errors.Is(err, ErrLeft) }) {
		t.Fatalf("it has not left: %v", h.gone)
	}
	before := c.acks
	w.await(w.send(0, "x"))
	if c.acks-before != 2 || len(w.hosts[3].got) > 0 {
		t.Errorf("%d acknowledgements, %v", c.acks-before, w.hosts[3].got)
	}
}

// TestLeave: RM-29 and RM-A11: an inner node leaves while messages are in flight. It still acknowledges and
// passes on these messages, so other members notice nothing of it but the new list.
func TestLeave(t *testing.T) {
	spec.Covers(t, "RM-29", "RM-A11")
	w, _ := tallied(t, 8, nil, nil)
	w.net.Pause(5) // node 5 is a child of the leaving member in the tree of node 0's messages
	s := w.send(0, "x")
	w.net.Command(4, "leave")
	w.run(time.Second)
	if s.done || len(w.hosts[4].gone) > 0 {
		t.Fatal("the leaver did not wait")
	}
	w.net.Resume(5)
	w.await(s)
	w.want("x", w.all()...)
	w.run(2 * time.Second)
	if len(s.failed) > 0 || len(w.hosts[4].gone) != 1 || len(w.hosts[0].m.Status().Members) != 7 {
		t.Errorf("%+v, gone %v", s, w.hosts[4].gone)
	}
}

// TestLeaverHearsNoMore: RM-A10 and RM-A11: a leaving member that serves an old version delivers no message of the
// next version, whose list does not have it.
func TestLeaverHearsNoMore(t *testing.T) {
	spec.Covers(t, "RM-A10", "RM-A11")
	w, _ := tallied(t, 6, nil, nil)
	w.loss = func(from, _ sim.NodeID, p *packet) bool { // drop acknowledgements, so a message stays unreleased
		return from == 5 && slices.ContainsFunc(entries(p), func(e wire.Entry) bool { return e.Origin == w.hosts[1].m.Status().Number })
	}
	old := w.send(1, "old")
	w.net.Command(4, "leave")
	w.run(time.Second)
	w.await(w.send(0, "new"))
	if h := w.hosts[4]; old.done || h.m.state != leaving || h.delivered("old") != 1 || h.delivered("new") != 0 || h.m.stats.NotMember == 0 {
		t.Errorf("old released %v, %v, got %v", old.done, h.m.state, h.got)
	}
	w.loss = nil
	w.await(old)
}

// TestLeaverGivesUp: RM-A11: if the others need a leaving member for longer than ten seconds,
// the member leaves anyway, and counts as failed.
func TestLeaverGivesUp(t *testing.T) {
	spec.Covers(t, "RM-A11")
	w, _ := tallied(t, 8, nil, nil)
	w.net.Pause(5)
	s := w.send(0, "x")
	w.net.Command(4, "leave")
	w.run(11 * time.Second)
	if len(w.hosts[4].gone) != 1 {
		t.Fatal("the leaver stays")
	}
	w.net.Resume(5)
	w.await(s)
	if len(s.failed) != 1 || s.failed[0].NID != hostNID(4) {
		t.Errorf("failed: %v", s.failed)
	}
}

// TestLeaverDeclaredDead: RM-A11: discovery reports a leaving member dead before its message is
// released. The member learns that its message may be lost.
func TestLeaverDeclaredDead(t *testing.T) {
	spec.Covers(t, "RM-A11")
	w, _ := tallied(t, 8, nil, nil)
	w.net.Pause(5)
	s := w.send(4, "x")
	w.net.Command(4, "leave")
	w.run(100 * time.Millisecond)
	w.net.Command(0, "dead 4")
	w.run(5 * time.Second)
	if gone := w.hosts[4].gone; len(gone) != 1 || gone[0] != ErrUnfinished || s.lost == nil {
		t.Errorf("left with %v, the message ends with %v", gone, s.lost)
	}
}

// TestDeath: RM-28, RM-A8 and G-RM-6: an inner node dies before it has acknowledged. Its children
// are adopted, and the origin is told which member failed. After the manager has heard of the
// death, the message is released within the time that polls and acknowledgements take in the
// tree.
func TestDeath(t *testing.T) {
	spec.Covers(t, "RM-28", "RM-A8", "G-RM-6")
	for _, dead := range []sim.NodeID{1, 4, 6, 7} {
		w, c := tallied(t, 8, nil, nil)
		id := w.hosts[dead].m.self
		w.net.Crash(dead)
		if dead == 4 { // all members below one of its children have missed the message
			w.loss = func(_, to sim.NodeID, p *packet) bool { return p.cast && to >= 6 }
		}
		w.onRelease = func(*host, *sent) {
			for _, other := range w.all() {
				if other != dead {
					w.want("x", other)
				}
			}
		}
		s := w.send(0, "x")
		notice := w.net.Now() + 40*time.Millisecond
		w.net.At(notice, func() { w.net.Command(0, fmt.Sprint("dead ", int(dead))) })
		w.await(s)
		const rtt = 2 * oneWay
		if took := s.released - notice; took > 7*rtt/2+rtt {
			t.Errorf("node %d: released %v after the notice", dead, took)
		}
		if len(s.failed) != 1 || s.failed[0] != id {
			t.Errorf("node %d: failed %v", dead, s.failed)
		}
		if c.repairs > 3 { // one repair to the dead member, and one to each that lacked the message
			t.Errorf("node %d: %+v", dead, c)
		}
	}
}

// TestEarlyAck: RM-A8: a child of a failed member learns of the failure before its grandparent,
// because the list to the grandparent is lost. The grandparent holds the child's
// acknowledgement until it has the list, and does not lose it.
func TestEarlyAck(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, c := tallied(t, 8, nil, nil)
	w.net.Crash(7) // in the tree of node 1's messages, node 7 is a child of node 5 and the parent of node 0
	lost := 0
	w.loss = func(_, to sim.NodeID, p *packet) bool {
		if o, err := wire.ParseOrder(p.data); err != nil || o.Kind != wire.OrderList || to != 5 || lost > 0 {
			return false
		}
		lost++
		return true
	}
	s := w.send(1, "x")
	w.run(10 * time.Millisecond)
	w.net.Command(0, "dead 7")
	w.await(s)
	w.want("x", 0, 1, 2, 3, 4, 5, 6)
	if st := w.hosts[5].m.stats; lost != 1 || st.Held == 0 || st.Stray > 0 || len(s.failed) != 1 {
		t.Errorf("%d lost, %+v, %+v, failed %v", lost, st, c, s.failed)
	}
}

// TestOriginDies: RM-A8: an origin dies while a message is in flight. No other member keeps anything of the
// origin.
func TestOriginDies(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, _ := tallied(t, 4, nil, nil)
	w.net.Pause(2)
	w.send(1, "x")
	w.run(10 * time.Millisecond)
	w.net.Crash(1)
	w.net.Command(0, "dead 1")
	w.net.Resume(2)
	w.run(2 * time.Second)
	for _, id := range []sim.NodeID{0, 2, 3} {
		h := w.hosts[id]
		if len(h.m.streams) > 3 || len(h.m.group.rosters) != 1 || len(h.m.group.byID) != 3 {
			t.Errorf("node %d keeps %d streams, %d lists, %d members", id, len(h.m.streams), len(h.m.group.rosters), len(h.m.group.byID))
		}
	}
}

// TestExpelled: RM-A8: a live member that counts as failed is told so. It delivers no more
// messages, and joins again as another member. Its messages in flight are lost.
func TestExpelled(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, _ := tallied(t, 4, nil, nil)
	w.net.Pause(3) // node 3 is silent, so the message below is not released
	s := w.send(2, "mine")
	w.net.Command(0, "dead 2")
	w.run(100 * time.Millisecond)
	w.net.Resume(3)
	w.run(time.Second)
	h := w.hosts[2]
	if len(h.gone) != 1 || !errors.Is(h.gone[0], ErrExpelled) || !s.done || !errors.Is(s.lost, ErrExpelled) {
		t.Fatalf("gone %v, %+v", h.gone, s)
	}
	before := len(h.got)
	w.await(w.send(0, "without"))
	if len(h.got) != before {
		t.Error("it still delivers")
	}
	incarnation := h.m.self.Incarnation
	w.net.Command(2, "join")
	w.run(2 * time.Second)
	w.await(w.send(0, "with"))
	w.want("with", w.all()...)
	if h.m.self.Incarnation < incarnation || h.joined != 2 {
		t.Errorf("life %d after %d, joined %d times", h.m.self.Incarnation, incarnation, h.joined)
	}
}

// TestRestart: RM-A8: when a node joins again as another member, the previous member counts as
// failed, without any other report.
func TestRestart(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, _ := tallied(t, 4, nil, nil)
	before := w.hosts[2].m.self
	w.net.Crash(2)
	s := w.send(0, "x")
	w.run(50 * time.Millisecond)
	w.net.Start(2, false)
	w.net.Command(2, "join")
	w.await(s)
	w.run(2 * time.Second)
	if len(s.failed) != 1 || s.failed[0] != before {
		t.Errorf("failed: %v", s.failed)
	}
	w.await(w.send(2, "back"))
	w.want("back", w.all()...)
}

// TestVersionsEnd: RM-17, RM-A7 and G-RM-5: the list changes many times while messages are in
// flight and some origins are silent. Afterwards no member keeps more than the latest list, and
// no more payload than a window for each origin.
func TestVersionsEnd(t *testing.T) {
	spec.Covers(t, "RM-17", "RM-A7", "G-RM-5")
	changes := effort.Of(20, 20, 100)
	w, _ := tallied(t, 6, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 8 })
	w.unchecked = true
	for i := range changes {
		id := sim.NodeID(4 + i%2)
		w.net.Command(id, []string{"leave", "leave", "join", "join"}[i%4])
		for j := range 30 {
			w.net.Command(sim.NodeID(j%2), fmt.Sprint("m", i, ".", j))
			w.run(2 * time.Millisecond)
		}
		for _, h := range w.hosts {
			for _, s := range h.m.streams {
				if len(s.slots) > 8 {
					t.Fatalf("node %d: a window of %d", h.id, len(s.slots))
				}
			}
			if n := len(h.m.group.rosters); n > 8 {
				t.Fatalf("node %d keeps %d lists", h.id, n)
			}
		}
	}
	w.run(3 * time.Second)
	for _, h := range w.hosts {
		for _, s := range h.m.streams {
			if s.stable != s.head {
				t.Errorf("node %d keeps [%d, %d) of %v", h.id, s.stable, s.head, s.origin.id)
			}
		}
		if h.m.state == member && (len(h.m.group.rosters) != 1 || len(h.m.group.byID) != len(h.m.group.latest().peers)) {
			t.Errorf("node %d keeps %d lists of %d members", h.id, len(h.m.group.rosters), len(h.m.group.byID))
		}
	}
	if g := w.hosts[0].g; len(g.departed) > 0 || len(g.leavers) > 0 || g.free != g.version {
		t.Errorf("the manager keeps %v, %d leavers, versions from %v", g.departed, len(g.leavers), g.free)
	}
}
