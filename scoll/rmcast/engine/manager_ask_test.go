package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// besideNames lets five members of a list report to a manager of a group of up to eight, and answer it. It checks that the next
// list has these five, and that others were expelled.
func (s *search) besideNames(t *testing.T, others ...sim.NodeID) {
	t.Helper()
	list := []sim.NodeID{1, 2, 3, 4, 5}
	for _, host := range list {
		s.report(testID(host))
	}
	for _, host := range list {
		s.answer(s.g.now, host, list)
	}
	s.wait()
	s.g.Step(max(s.g.now, s.g.collect.by), Input{}, &s.out)
	s.publishes(t, list, others)
}

// TestManyReportsOfOneNode: RM-A8, RM-A9: a node reports to a restarted manager under as many incarnations as the manager asks
// members, before the members of the latest list report. It answers under the last of them, or under each at once. The manager
// asks the members all the same, and goes on with their list.
func TestManyReportsOfOneNode(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	for _, each := range []bool{false, true} {
		s, most := newSearch(), uint64(4*8)
		s.g.cfg.Members = 8
		for inc := range most {
			id := wire.ID{NID: hostNID(50), Incarnation: inc + 1}
			if s.report(id); each || inc == most-1 {
				s.say(id, &wire.Order{})
			}
		}
		s.besideNames(t, 50)
	}
}

// TestReportsOfThreeNodes: RM-A9: three nodes answer a restarted manager under two incarnations each, and the first of them names
// as many invented members as the manager asks. There is room for all members of the latest list, which go on.
func TestReportsOfThreeNodes(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch()
	s.g.cfg.Members = 8
	for host := range sim.NodeID(3) {
		for inc := range uint64(2) {
			id := wire.ID{NID: hostNID(50 + host), Incarnation: 7 + inc}
			s.report(id)
			s.say(id, &wire.Order{Members: inventions(16)})
		}
	}
	s.besideNames(t, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 50, 51, 52)
}

// TestReportsThatOthersName: RM-A9: a node reports to a restarted manager under many incarnations, each of which another node
// names before the next one. The manager asks the node under few of them.
func TestReportsThatOthersName(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch()
	for host := range sim.NodeID(9) {
		id := wire.ID{NID: hostNID(50), Incarnation: uint64(host) + 7}
		s.report(id)
		s.report(testID(60 + host))
		s.say(testID(60+host), &wire.Order{Members: []wire.Member{{ID: id}}})
	}
	asked := 0
	for _, p := range s.g.collect.probes {
		if p.NID == hostNID(50) && p.own {
			asked++
		}
	}
	if asked != maxOwn {
		t.Errorf("the manager asks %d incarnations", asked)
	}
}

// TestLateReports: RM-A8, RM-A9: reports of earlier incarnations of a member arrive at a restarted manager late, before or after
// the one of the member itself. The manager asks the member all the same, and it stays. So does one that has a lower
// incarnation because the clock of its node was set back: it is asked again when it reports again.
func TestLateReports(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	for _, reports := range [][]uint64{{5, 6, 7}, {6, 7, 5}, {7, 5, 6}, {7, 6, 5}, {8, 9, 7}, {7, 8, 9, 7}} {
		s := newSearch()
		s.g.cfg.Members = 8
		for _, inc := range reports {
			s.report(wire.ID{NID: hostNID(3), Incarnation: inc})
		}
		if s.g.collect.probe(testID(3)) == nil {
			t.Errorf("after reports of %d the manager does not ask the member", reports)
		}
		s.besideNames(t, 3) // its other incarnations
	}
}

// TestReportsBesideAsked: RM-A8, RM-A9: a member has answered a restarted manager, or another member has named it, when reports of
// other incarnations of its node arrive, such as those before the clock was set back. The manager does not forget the member,
// for which messages may wait.
func TestReportsBesideAsked(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	for _, named := range []bool{false, true} {
		s := newSearch()
		if s.report(testID(3)); named {
			s.report(testID(1))
			s.say(testID(1), &wire.Order{Members: []wire.Member{{ID: testID(3)}}})
		} else {
			s.say(testID(3), &wire.Order{})
		}
		for inc := range uint64(3) {
			s.report(wire.ID{NID: hostNID(3), Incarnation: 8 + inc})
		}
		if s.g.collect.probe(testID(3)) == nil {
			t.Errorf("named %v: the manager has forgotten the member", named)
		}
		if s.g.collect.probe(wire.ID{NID: hostNID(3), Incarnation: 10}) == nil {
			t.Errorf("named %v: the manager does not ask the latest incarnation", named)
		}
	}
}
