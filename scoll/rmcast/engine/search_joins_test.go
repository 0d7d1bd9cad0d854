package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestJoinsInLongSearch: RM-A9: a manager knows of no list, most members of an old one answer it, and a node joins. Then the
// manager stands still. The node does not become a group of its own. If there is another manager, to which the members may
// have turned meanwhile, this one gives up, so that they can be asked again. Otherwise it goes on with all that answered.
func TestJoinsInLongSearch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, managers := range []int{1, 2} {
		s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}
		if managers == 2 {
			s.g.cfg.Managers = append(s.g.cfg.Managers, hostNID(98))
		}
		s.begin(list...)
		for _, host := range list[:4] {
			s.answer(2, host, list)
		}
		s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
		s.g.Step(9*time.Second, Input{}, &s.out)
		s.g.Step(s.g.collect.by, Input{}, &s.out)
		if managers == 1 {
			s.publishes(t, []sim.NodeID{1, 2, 3, 4, 9}, []sim.NodeID{5})
			continue
		}
		s.publishes(t, nil, nil)
		if s.g.role != standby {
			t.Errorf("the manager is %v, alone %v", s.g.role, s.g.alone)
		}
	}
}

// TestJoinsInFailedSearchAgain: RM-A9: the members of the only manager say that they know a later epoch. It takes over again,
// and too few of them answer. A node that has joined meanwhile becomes no group of its own.
func TestJoinsInFailedSearchAgain(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	for _, host := range list {
		s.answer(2, host, list)
	}
	s.wait()
	for _, host := range list {
		s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 5000, Version: s.g.version})
	}
	version := s.g.standby.list.Version
	s.g.Step(s.g.turnAt(), Input{}, &s.out)
	for _, host := range list[:2] {
		o := wire.Order{Kind: wire.OrderKnown, Flags: wire.OrderVote, You: 1, Epoch: 5000, Version: version, Members: s.g.standby.list.Members, Window: 3}
		s.told(s.g.now, host, &o)
	}
	if s.g.role != active {
		t.Fatal("the manager has not taken over again")
	}
	s.told(s.g.now, 9, &wire.Order{Kind: wire.OrderJoin, Epoch: 5000})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	if s.publishes(t, nil, nil); !s.g.alone || len(s.g.members) > 0 {
		t.Errorf("alone %v, %d members", s.g.alone, len(s.g.members))
	}
}

// TestToldOnce: RM-A9: the only member that a manager can ask allows it again and again to take over, and then does not
// answer. The user is told once that too few members are heard.
func TestToldOnce(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, told := newSearch(hostNID(98)), 0
	s.begin(1)
	for now := time.Duration(1); now < time.Minute; {
		s.out.Reset()
		now = s.g.Step(now, Input{}, &s.out)
		told += s.quorums()
		if s.g.role == standby && len(s.g.collect.probes) > 0 {
			o := wire.Order{Kind: wire.OrderKnown, Flags: wire.OrderVote, You: 1, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}, Window: 1}
			o.Members = []wire.Member{{ID: testID(1)}}
			s.told(now, 1, &o)
			told += s.quorums()
		}
	}
	if told != 1 || s.g.stats.Collections < 10 || s.g.stats.Alone != 1 {
		t.Errorf("the user is told %d times, %+v", told, s.g.stats)
	}
}

// quorums counts how often the user is told whether enough members are heard, in the effects so far, which it drops.
func (s *search) quorums() (n int) {
	for _, e := range s.out.Effects {
		if e.Kind == Quorum {
			n++
		}
	}
	s.out.Reset()
	return n
}
