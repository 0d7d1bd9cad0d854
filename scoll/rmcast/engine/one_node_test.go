package engine

import (
	"maps"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestFailuresOfOneNode: RM-A8, RM-A9: a node answers a new manager in the names of two members of its own, and each says
// that the two other members have failed. That is what one node says: the others stay, and its members are expelled.
func TestFailuresOfOneNode(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	s := newSearch()
	s.begin(1, 2)
	for inc := range uint64(2) {
		s.answerAs(wire.ID{NID: hostNID(3), Incarnation: 7 + inc}, testID(1), testID(2))
	}
	s.answer(3, 1, []sim.NodeID{1, 2, 3})
	s.answer(3, 2, []sim.NodeID{1, 2, 3})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{1, 2}, []sim.NodeID{3})
}

// TestFailuresBesideOneNode: RM-A9: a node answers a new manager in the names of so many members of its own, most of which another
// node names, that these and the members that have failed do not all fit into a list. The list names those that have failed, as
// the other members say.
func TestFailuresBesideOneNode(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.g.cfg.Members = 3
	s.report(testID(20))
	var names []wire.Member
	for inc := range uint64(maxNamed) {
		names = append(names, wire.Member{ID: wire.ID{NID: hostNID(3), Incarnation: 90 + inc}})
	}
	s.say(testID(20), &wire.Order{Members: names})
	s.begin(list...)
	for inc := uint64(100); inc > 89; inc-- {
		s.answerAs(wire.ID{NID: hostNID(3), Incarnation: inc})
	}
	for _, host := range []sim.NodeID{1, 2} { // the member on node 3 is not asked any more
		s.answer(3, host, list, testID(4), testID(5))
	}
	s.wait()
	s.g.Step(max(s.g.now, s.g.collect.by), Input{}, &s.out)
	for _, host := range []sim.NodeID{4, 5} {
		if o := &s.g.latest; !slices.Contains(o.Departed, testID(host)) || len(o.AppendTo(nil)) > buffer(3) {
			t.Errorf("%d members, %v have departed", len(o.Members), o.Departed)
		}
	}
}

// TestListOfOneNode: RM-A9: a node answers a new manager in the names of two members of its own, both of which have a later list
// without one of the members. That is one node that has it: the list goes on that the other nodes have.
func TestListOfOneNode(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2}
	s.begin(list...)
	for inc := range uint64(2) {
		s.report(wire.ID{NID: hostNID(9), Incarnation: 7 + inc})
	}
	for inc := range uint64(2) {
		o := wire.Order{Kind: wire.OrderKnown, Group: testGroup, Incarnation: 8 - inc, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 9}, Window: 2, MTU: 2048}
		for _, host := range []sim.NodeID{9, 1} {
			o.Members = append(o.Members, wire.Member{ID: testID(host), Number: uint32(host)})
		}
		s.g.Step(3, Input{Kind: Instructed, From: hostNID(9), Data: o.AppendTo(nil)}, &s.out)
	}
	for _, host := range list {
		s.answer(4, host, list)
	}
	s.wait()
	s.publishes(t, list, []sim.NodeID{9})
}

// TestListOfLeaver: RM-A9: a member answers a new manager as one that is leaving, and in the name of a second member of its own.
// Both have a later list without one of the other members. That one stays: the list goes on that the other nodes have.
func TestListOfLeaver(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}
	second := wire.ID{NID: hostNID(4), Incarnation: 8}
	s.begin(list...)
	s.report(second)
	for _, flags := range []wire.OrderFlags{wire.OrderLeaving, 0} {
		o := wire.Order{Kind: wire.OrderKnown, Group: testGroup, Incarnation: 8, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 9}, Window: 4, MTU: 2048}
		if o.Flags = flags; flags != 0 {
			o.Incarnation = 7
		}
		o.Usable = o.Version
		o.Members = []wire.Member{{ID: second, Number: 4}}
		for _, host := range list[:3] {
			o.Members = append(o.Members, wire.Member{ID: testID(host), Number: uint32(host)})
		}
		s.g.Step(3, Input{Kind: Instructed, From: second.NID, Data: o.AppendTo(nil)}, &s.out)
	}
	for _, host := range []sim.NodeID{1, 2, 3, 5} {
		s.answer(4, host, list)
	}
	s.wait()
	s.g.Step(max(s.g.now, s.g.collect.by), Input{}, &s.out)
	if !slices.ContainsFunc(s.g.latest.Members, func(m wire.Member) bool { return m.ID == testID(5) }) {
		t.Errorf("members %v", s.g.latest.Members)
	}
}

// inventions returns n members of an earlier list that does not exist.
func inventions(n int) (list []wire.Member) {
	for i := range n {
		list = append(list, wire.Member{ID: testID(20 + sim.NodeID(i))})
	}
	return list
}

// namesAllFailed lets eight members report, and those that are asked answer with their list and three members that have failed.
// It checks that the next list names these three.
func (s *search) namesAllFailed(t *testing.T) {
	t.Helper()
	list, failed := []sim.NodeID{1, 2, 3, 4, 5, 6, 7, 8}, []wire.ID{testID(9), testID(10), testID(11)}
	for _, host := range list {
		s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
	for _, host := range list {
		s.answer(s.g.now, host, list, failed...)
	}
	s.wait()
	s.g.Step(max(s.g.now, s.g.collect.by), Input{}, &s.out)
	for _, id := range failed {
		if o := &s.g.latest; !slices.Contains(o.Departed, id) || len(o.AppendTo(nil)) > buffer(8) {
			t.Errorf("%d members, %v have departed", len(o.Members), o.Departed)
		}
	}
}

// TestFailuresBesideTwoNames: RM-A9: a node answers a new manager in the names of two members of its own, both of which name
// the same invented members. That is what one node says: no room on the next list is kept for these, so the list names all
// members that have failed, and the member on that node as left behind, which is not asked besides these two.
func TestFailuresBesideTwoNames(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch()
	s.g.cfg.Members = 8
	for _, inc := range []uint64{100, 99} {
		s.report(wire.ID{NID: hostNID(3), Incarnation: inc})
	}
	for _, inc := range []uint64{100, 99} {
		s.say(wire.ID{NID: hostNID(3), Incarnation: inc}, &wire.Order{Members: inventions(13)})
	}
	s.namesAllFailed(t)
}

// beside returns a search in which a node has answered first, and has named as many invented members as a manager asks, and
// more failures than there is room for on a list. Three members of a list of five report then.
func beside(list []sim.NodeID) *search {
	s := newSearch()
	s.g.cfg.Members = 8
	s.report(testID(50))
	s.say(testID(50), &wire.Order{Members: inventions(16), Departed: strangers(24)})
	for _, host := range list[:3] {
		s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
	return s
}

// leavesBehind ends the search, and checks how many members the next list has, and that it names members 4 and 5 first among
// those that were left behind.
func (s *search) leavesBehind(t *testing.T, members int) {
	t.Helper()
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	o := &s.g.latest
	silent := o.Departed[len(o.Departed)-int(o.Silent):]
	if len(o.Members) != members || len(silent) < 2 || !slices.Equal(silent[:2], []wire.ID{testID(4), testID(5)}) || len(o.AppendTo(nil)) > buffer(8) {
		t.Errorf("%d members, %v were left behind", len(o.Members), silent)
	}
}

// TestSilentBesideInventions: RM-A9, RM-A18: the first node that answers a restarted manager names so many invented members and
// failures that there is no room to ask for others. Two members of the list that goes on are silent. The next list names them
// as left behind, first of all.
func TestSilentBesideInventions(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	list := []sim.NodeID{1, 2, 3, 4, 5}
	s := beside(list)
	for _, host := range list[:3] {
		s.answer(s.g.now, host, list)
	}
	s.leavesBehind(t, 3)
}

// TestVotersBesideInventions: RM-A9, RM-A18: as in TestSilentBesideInventions, but the list that goes on is one that only one
// member has, and that has left two voters behind. The next list names these before all inventions, as the manager after this
// one would take other silent members for them.
func TestVotersBesideInventions(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	list := []sim.NodeID{1, 2, 3, 4, 5}
	s := beside(list)
	s.answer(s.g.now, 2, list)
	s.answer(s.g.now, 3, list)
	o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 4}, Window: 3, Voters: 6, Of: 5, Departed: []wire.ID{testID(4), testID(5)}, Silent: 2}
	for host := range sim.NodeID(3) {
		o.Members = append(o.Members, wire.Member{ID: testID(host + 1), Number: uint32(host + 1)})
	}
	s.told(s.g.now, 1, &o)
	s.leavesBehind(t, 3)
	if s.g.latest.Of != 5 {
		t.Errorf("%d members vote", s.g.latest.Of)
	}
}

// TestFailuresBesideVote: RM-A9: a node that allows a manager to take over names invented members, and names them again when
// it answers the search that follows. No room on the next list is kept for these.
func TestFailuresBesideVote(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch(hostNID(98))
	s.g.cfg.Members = 8
	s.report(testID(3))
	s.g.Step(s.g.turnAt(), Input{}, &s.out)
	s.say(testID(3), &wire.Order{Flags: wire.OrderVote, You: 1, Members: inventions(15)})
	if s.g.role != active {
		t.Fatal("the manager has not taken over")
	}
	s.namesAllFailed(t)
}

// TestReportsOfOneNode: RM-A18: a node reports to a manager on standby in the names of as many members of its own as a group
// may have. The manager asks the other nodes that report, too, whether it may take over.
func TestReportsOfOneNode(t *testing.T) {
	spec.Covers(t, "RM-A18")
	s := newSearch(hostNID(98))
	s.g.cfg.Members = 4
	for inc := range uint64(4) {
		s.report(wire.ID{NID: hostNID(3), Incarnation: 20 + inc})
	}
	for _, host := range []sim.NodeID{1, 2, 4} {
		s.report(testID(host))
	}
	s.out.Reset()
	s.g.Step(s.g.turnAt(), Input{}, &s.out)
	asked := map[sim.NodeID]int{}
	for _, e := range s.out.Effects {
		if o, err := wire.ParseOrder(s.out.message(&e)); e.Kind == DoReport && err == nil && o.Kind == wire.OrderCanvass {
			asked[hostID(e.To)]++
		}
	}
	if want := (map[sim.NodeID]int{1: 1, 2: 1, 3: 1, 4: 1}); !maps.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
}

// answerAs reports a member to the manager, and gives its answer, which names failed members.
func (s *search) answerAs(id wire.ID, failed ...wire.ID) {
	s.report(id)
	s.say(id, &wire.Order{Departed: failed})
}

// report reports a member of an earlier list to the manager.
func (s *search) report(id wire.ID) {
	o := wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}, Group: testGroup, Incarnation: id.Incarnation}
	s.g.Step(max(s.g.now, 2), Input{Kind: Instructed, From: id.NID, Data: o.AppendTo(nil)}, &s.out)
}

// say gives the manager the answer of a member, which knows a list of itself alone. Members that o has are on earlier lists.
func (s *search) say(id wire.ID, o *wire.Order) {
	o.Kind, o.Group, o.Epoch, o.Version, o.Window = wire.OrderKnown, testGroup, max(s.g.epoch, 500), wire.Version{Epoch: 500, Counter: 3}, 1
	o.Incarnation, o.MTU, o.Members = id.Incarnation, 2048, append([]wire.Member{{ID: id}}, o.Members...)
	s.g.Step(max(s.g.now, 2), Input{Kind: Instructed, From: id.NID, Data: o.AppendTo(nil)}, &s.out)
}

// TestRoomBesideOneNode: RM-40: a node answers a new manager in the names of as many members of its own as a group may have.
// At most one of them can stay, so there is room for another node.
func TestRoomBesideOneNode(t *testing.T) {
	spec.Covers(t, "RM-40")
	s := newSearch()
	s.g.cfg.Members = 2
	s.begin(2)
	for i := range uint64(2) {
		s.answerAs(wire.ID{NID: hostNID(1), Incarnation: 20 - i})
	}
	s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
	if s.g.stats.Full > 0 || len(s.g.members) != 1 {
		t.Errorf("%d requests found no room, %d nodes have joined", s.g.stats.Full, len(s.g.members))
	}
}
