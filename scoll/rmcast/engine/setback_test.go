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

// setBack restarts a node with its clock set back by an hour, so that its incarnation is lower than before, and
// waits until it is a member again.
func (w *world) setBack(id sim.NodeID) {
	w.t.Helper()
	before := w.hosts[id].m.self
	w.change = func(node sim.NodeID, cfg *Config) {
		if node == id {
			cfg.Incarnation -= uint64(time.Hour)
		}
	}
	w.restart(id)
	w.honest("the restart", 15*time.Second)
	if w.hosts[id].m.self.Incarnation >= before.Incarnation {
		w.t.Fatalf("%v was %v", w.hosts[id].m.self, before)
	}
}

// TestSetBackMember: RM-2, RM-A8: a member whose clock was set back has a lower incarnation than an earlier member on
// its node, which spoke to the manager on standby. When that manager takes over, the present member counts as alive:
// if it does not answer, messages that wait for it do not end as successes.
func TestSetBackMember(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	for name, from := range map[string]sim.NodeID{"only heard by the manager on standby": 0, "only on a list": 3} { // any order: the worlds are independent
		w := parted(t, 5, 2)
		if w.hosts[1].g.incarnations[hostNID(3)] == 0 {
			t.Fatal("the manager on standby has not heard the node")
		}
		w.loss = func(sender, to sim.NodeID, p *packet) bool {
			o, err := wire.ParseOrder(p.data)
			return sender == from && to == 1 && p.kind == Instructed && err == nil && (from == 3 || o.Kind == wire.OrderList && o.Flags&wire.OrderReplica != 0)
		}
		w.setBack(3)
		w.loss = nil
		current := w.hosts[3].m.self
		w.net.Partition(sim.Nodes(3))
		s := w.send(2, "x")
		w.run(100 * time.Millisecond)
		w.net.Crash(0)
		w.net.Command(1, "dead 0")
		w.run(10 * time.Second)
		if !s.done || !errors.Is(s.lost, ErrSplit) || !slices.Contains(s.failed, current) {
			t.Errorf("%s: done %v, %v, failed %v", name, s.done, s.lost, s.failed)
		}
	}
}

// TestSetBackVotes: RM-A18: a member whose clock was set back still counts when a manager computes the majority of a
// list. So two other members, of four in all, elect no manager.
func TestSetBackVotes(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A18")
	w := parted(t, 4, 2)
	w.setBack(3)
	w.net.Partition(sim.Nodes(1, 2))
	w.run(20 * time.Second)
	if g := w.hosts[1].g; g.role == active || !g.alone {
		t.Errorf("two of four members elect a manager: %v, alone %v", g.role, g.alone)
	}
}

// TestSetBackAnswers: RM-A9: a new manager waits for the answer of a member whose clock was set back, so the member
// stays the same member even if its answer is the last one.
func TestSetBackAnswers(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	w := parted(t, 5, 2)
	w.setBack(3)
	current := w.hosts[3].m.self
	var late []*packet
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		o, err := wire.ParseOrder(p.data)
		if held := from == 3 && to == 1 && p.kind == Instructed && err == nil && o.Kind == wire.OrderKnown; !held {
			return false
		}
		late = append(late, p)
		return true
	}
	w.net.Crash(0)
	w.net.Command(1, "dead 0")
	for range 100 {
		if w.run(50 * time.Millisecond); w.hosts[1].g.role == active {
			break
		}
	}
	w.run(500 * time.Millisecond)
	w.loss = nil
	for _, p := range late {
		w.inject(1, 3, p)
	}
	w.run(5 * time.Second)
	if h := w.hosts[3]; len(late) < 2 || h.m.self != current || len(h.gone) > 0 || !slices.ContainsFunc(w.hosts[1].g.latest.Members, func(m wire.Member) bool { return m.ID == current }) {
		t.Errorf("%d late answers; it was %v, and is %v, gone %v; members %v", len(late), current, h.m.self, h.gone, w.hosts[1].g.latest.Members)
	}
}

// TestSetBackLate: RM-A8: after a late message of a lower incarnation, the next report of the member shows which
// incarnation is alive, and the lower one counts as ended again.
func TestSetBackLate(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := clocked(t, 3, 1)
	g, id := w.hosts[0].g, w.hosts[2].m.self
	before := wire.ID{NID: id.NID, Incarnation: id.Incarnation - 5}
	w.order(0, 2, &wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: g.epoch, Incarnation: before.Incarnation})
	w.run(time.Second)
	if g.find(id) == nil || g.ended(id) || !g.ended(before) {
		t.Errorf("member %v, it has ended: %v, the earlier one has ended: %v", g.find(id), g.ended(id), g.ended(before))
	}
}

// TestSetBackSearch: RM-A8: a member answers a new manager, restarts with its clock set back, and joins while the
// manager still waits for others. The list has the member that has joined, and not the earlier member of its node.
func TestSetBackSearch(t *testing.T) {
	spec.Covers(t, "RM-A8")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4}
	s.begin(list...)
	s.answer(2, 4, list)
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: 5, MTU: 2048}
	s.g.Step(3, Input{Kind: Instructed, From: hostNID(4), Data: join.AppendTo(nil)}, &s.out)
	for _, host := range list[:3] {
		s.answer(4, host, list)
	}
	s.publishes(t, list, []sim.NodeID{4})
	if lower := (wire.ID{NID: hostNID(4), Incarnation: 5}); !slices.ContainsFunc(s.g.latest.Members, func(m wire.Member) bool { return m.ID == lower }) {
		t.Errorf("members %v", s.g.latest.Members)
	}
}
