package engine

import (
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestFailuresOfOneNode: RM-A8, RM-A9: a node answers a new manager in the names of five members of its own, and each says
// that the two other members have failed. That is what one node says: the others stay, and its members are expelled.
func TestFailuresOfOneNode(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	s := newSearch()
	s.begin(1, 2)
	for inc := range uint64(5) {
		s.answerAs(wire.ID{NID: hostNID(3), Incarnation: 7 + inc}, testID(1), testID(2))
	}
	s.answer(3, 1, []sim.NodeID{1, 2, 3})
	s.answer(3, 2, []sim.NodeID{1, 2, 3})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{1, 2}, []sim.NodeID{3})
}

// TestFailuresBesideOneNode: RM-A9: a node answers a new manager in the names of so many members of its own that these and the
// members that have failed do not all fit into a list. The list names those that have failed, as the other members say.
func TestFailuresBesideOneNode(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.g.cfg.Members = 8
	s.begin(list...)
	for inc := uint64(100); inc > 79; inc-- {
		s.answerAs(wire.ID{NID: hostNID(3), Incarnation: inc})
	}
	for _, host := range []sim.NodeID{3, 1, 2} {
		s.answer(3, host, list, testID(4), testID(5))
	}
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	for _, host := range []sim.NodeID{4, 5} {
		if o := &s.g.latest; !slices.Contains(o.Departed, testID(host)) || len(o.AppendTo(nil)) > buffer(8) {
			t.Errorf("%d members, %v have departed", len(o.Members), o.Departed)
		}
	}
}

// answerAs reports a member to the manager, and gives its answer, which names failed members.
func (s *search) answerAs(id wire.ID, failed ...wire.ID) {
	o := wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}, Group: testGroup, Incarnation: id.Incarnation, MTU: 2048}
	s.g.Step(2, Input{Kind: Instructed, From: id.NID, Data: o.AppendTo(nil)}, &s.out)
	o.Kind, o.Epoch, o.Window, o.Departed = wire.OrderKnown, s.g.epoch, 1, failed
	o.Members = []wire.Member{{ID: id}}
	s.g.Step(2, Input{Kind: Instructed, From: id.NID, Data: o.AppendTo(nil)}, &s.out)
}

// TestRoomBesideOneNode: RM-40: a node answers a new manager in the names of as many members of its own as a group may have.
// At most one of them can stay, so there is room for another node.
func TestRoomBesideOneNode(t *testing.T) {
	spec.Covers(t, "RM-40")
	s := newSearch()
	s.g.cfg.Members = 4
	s.begin(2)
	for i := range uint64(4) {
		s.answerAs(wire.ID{NID: hostNID(1), Incarnation: 20 - i})
	}
	s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
	if s.g.stats.Full > 0 || len(s.g.members) != 1 {
		t.Errorf("%d requests found no room, %d nodes have joined", s.g.stats.Full, len(s.g.members))
	}
}
