package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestRejoins: RM-A8: a node that was expelled joins again as another member, with a later
// incarnation, so that its messages are not confused with earlier ones.
func TestRejoins(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := parted(t, 4, 1)
	for range 3 {
		before := w.hosts[3].m.self
		w.tap = func(from, _ sim.NodeID, p *packet) {
			if o, err := wire.ParseOrder(p.data); from == 3 && p.kind == Instructed && err == nil && o.Kind == wire.OrderJoin && o.Incarnation == before.Incarnation {
				t.Errorf("it asks to join as %v again", before)
			}
		}
		w.net.Command(0, "expel 3")
		w.run(2 * time.Second)
		h := w.hosts[3]
		if h.m.self.NID != before.NID || h.m.self.Incarnation <= before.Incarnation {
			t.Fatalf("%v after %v", h.m.self, before)
		}
		if h.m.state != member || slices.ContainsFunc(w.hosts[0].g.members, func(m *managed) bool { return m.ID == before }) {
			t.Errorf("%v is %v", h.m.self, h.m.state)
		}
		w.honest("the expulsion", 5*time.Second)
	}
}

// TestGivesUp: RM-A9: the manager of a member is gone, and a manager of a lower epoch, which
// has never heard of the member, is active. The member gives up its membership and joins that
// manager.
func TestGivesUp(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := newWorld(t, 6, func(w *world, _ *sim.Config[*packet]) { w.managers, w.wall, w.rejoin = 2, testWall, true })
	w.run(0)
	w.net.Partition(sim.Nodes(1, 5))
	for id := range w.hosts {
		w.net.Command(sim.NodeID(id), "join")
	}
	w.run(8 * time.Second)
	w.net.Crash(1)
	before, s := w.hosts[5].m.self, w.send(5, "x")
	w.net.Heal()
	w.run(15 * time.Second)
	h := w.hosts[5]
	if h.m.stats.Healed != 1 || h.m.self == before || h.m.state != member || !errors.Is(s.lost, ErrExpelled) {
		t.Errorf("%v, %v, %+v, lost %v", h.m.self, h.m.state, h.m.stats, s.lost)
	}
	w.net.Start(1, false)
	w.net.Command(1, "join")
	w.honest("the restart", 10*time.Second)
}

// TestMovedChild: RM-A8: a member whose parent has failed acknowledges to its new parent
// without being asked, because the failed one may not have passed the acknowledgement on.
func TestMovedChild(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, _ := tallied(t, 8, nil, nil)
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		return has(p, wire.Poll) || p.kind == Control && from == 4 && to == 0 || p.kind == Arrival && !p.cast
	}
	s := w.send(0, "x")
	w.run(50 * time.Millisecond)
	if s.done {
		t.Fatal("released without node 4")
	}
	w.net.Crash(4)
	w.net.Command(0, "dead 4")
	if w.await(s); len(s.failed) != 1 || s.failed[0].NID != hostNID(4) {
		t.Errorf("failed %v", s.failed)
	}
	w.want("x", 1, 2, 3, 5, 6, 7)
}

// TestQuestionOfLeftVersion: RM-17: an origin uses a later version, and is asked about messages of the previous one.
// It answers that all of them are released.
func TestQuestionOfLeftVersion(t *testing.T) {
	spec.Covers(t, "RM-17")
	w, _ := tallied(t, 4, nil, nil)
	w.await(w.send(1, "x"))
	w.loss = func(from, to sim.NodeID, p *packet) bool { return p.kind == Control && from == 3 && to == 2 }
	w.send(2, "holds the version") // node 3 does not acknowledge this message, so the version stays in use
	r := w.hosts[1].m.sender.stream.roster
	w.net.Command(0, "leave")
	w.run(time.Second)
	s := w.hosts[1].m.sender.stream
	if s.roster == r || w.hosts[1].m.roster(r.version) == nil {
		t.Fatalf("it sends under %v, and knows %d versions", s.roster.version, len(w.hosts[1].m.group.rosters))
	}
	for _, kind := range []wire.EntryKind{wire.Need, wire.Poll, wire.Query} {
		var answers []wire.Entry
		w.tap = func(from, _ sim.NodeID, p *packet) {
			if from == 1 {
				answers = append(answers, entries(p)...)
			}
		}
		e := wire.Entry{Kind: kind, Origin: r.number(r.self), Version: r.version, First: s.stable - 1, Count: 1, Stable: s.stable - 1}
		deliver(w, w.hosts[1], Control, 3, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}))
		if len(answers) != 1 || answers[0].Kind != wire.Stable || answers[0].Version != r.version || answers[0].Stable != s.stable {
			t.Errorf("%v: %+v", kind, answers)
		}
	}
}
