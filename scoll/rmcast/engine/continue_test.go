package engine

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// hear gives the manager reports of members that have its latest list.
func (s *search) hear(now time.Duration, hosts ...sim.NodeID) {
	for _, host := range hosts {
		s.told(now, host, &wire.Order{Kind: wire.OrderReport, Epoch: s.g.epoch, Version: s.g.version, Oldest: s.g.version})
	}
}

// startedOver returns one of some managers, which has searched in vain for members of an earlier list, and has begun a
// group with nodes that have joined meanwhile. All of them have its list.
func startedOver(managers int, joined ...sim.NodeID) *search {
	s := unacknowledged(managers, joined...)
	s.hear(s.g.now, joined...)
	return s
}

// unacknowledged returns such a manager before any node has its list.
func unacknowledged(managers int, joined ...sim.NodeID) *search {
	s := newSearch()
	for i := range managers - 1 {
		s.g.cfg.Managers = append(s.g.cfg.Managers, hostNID(90+sim.NodeID(i)))
	}
	s.begin(1)
	s.answer(2, 1, []sim.NodeID{1, 2, 3, 4, 5})
	for _, host := range joined {
		s.told(3, host, &wire.Order{Kind: wire.OrderJoin})
	}
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	return s
}

// heardAgain lets three of the five members of the earlier list report again, and all answer the searches that follow.
func (s *search) heardAgain(version wire.Version, joined []sim.NodeID) {
	now, list := s.g.now+s.g.cfg.Takeover, []sim.NodeID{1, 2, 3, 4, 5}
	s.hear(now, joined...)
	for _, host := range list[:3] {
		s.told(now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
	for len(s.g.collect.probes) > 0 {
		for _, host := range list[:3] {
			s.answer(s.g.now, host, list)
		}
		for _, host := range joined {
			s.answerOf(s.g.now, host, version, joined)
		}
		s.g.Step(s.g.collect.by, Input{}, &s.out)
	}
}

// TestOneListInAnEpoch: RM-A18: a manager has begun a group with nodes that have joined while too few members of an earlier
// list were heard, and then hears three of these five. If there is another manager, and the group has several members, the
// larger of the two goes on, in an epoch of its own, and the members of the other one join again. Later, two of the three are
// cut off. Then the manager changes nothing, however many nodes it hears beside the third: four of the five may have another
// manager.
func TestOneListInAnEpoch(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, tt := range []struct {
		managers                  int
		joined, members, expelled []sim.NodeID
		again                     bool
		votes                     int
	}{
		{2, []sim.NodeID{9}, []sim.NodeID{1, 2, 3, 9}, []sim.NodeID{4, 5}, false, 5},
		{2, []sim.NodeID{9, 10}, []sim.NodeID{1, 2, 3}, []sim.NodeID{4, 5, 9, 10}, true, 5},
		{1, []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{1, 2, 3, 9, 10, 11, 12, 13}, []sim.NodeID{4, 5}, false, 10},
		{2, []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{1, 2, 3}, false, 5},
	} {
		s := startedOver(tt.managers, tt.joined...)
		s.publishes(t, tt.joined, nil)
		version := s.g.version
		s.heardAgain(version, tt.joined)
		s.publishes(t, tt.members, tt.expelled)
		continued := s.g.version != version
		if n := len(s.g.base.voters()); n != tt.votes || s.g.epoch > version.Epoch != tt.again || continued == s.g.usable.IsValid() {
			t.Errorf("%d: %d vote, epoch %d, usable %v of %v", tt.joined, n, s.g.epoch, s.g.usable, s.g.version)
		}
		for end := s.g.now + 40*time.Second; s.g.now < end; {
			s.hear(s.g.now+s.g.cfg.Heartbeat, append(slices.Clone(tt.joined), 1)...)
		}
		if most := tt.votes > 5; s.g.alone != (continued && !most) || s.g.stats.Silent > 0 != most { // the group and node 1 are most of ten
			t.Errorf("%d: alone %v, %d left behind", tt.joined, s.g.alone, s.g.stats.Silent)
		}
	}
}

// TestListBesideOthers: RM-A18: as in TestOneListInAnEpoch, three members of an earlier list are more than those of the group
// that are heard. A node names all of the group in its list, which then seems to be larger. The list of the three goes on all
// the same.
func TestListBesideOthers(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group, list, lie := []sim.NodeID{9, 10, 11}, []sim.NodeID{1, 2, 3, 4, 5}, wire.Version{Epoch: 500, Counter: 9}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	version := s.g.version
	for end := s.g.now + s.g.cfg.Takeover; s.g.now < end; {
		s.hear(s.g.now+s.g.cfg.Heartbeat, group[:2]...)
	}
	s.told(s.g.now, 20, &wire.Order{Kind: wire.OrderReport, Epoch: lie.Epoch, Version: lie})
	for _, host := range list[:3] {
		s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
	for len(s.g.collect.probes) > 0 {
		s.answerOf(s.g.now, 20, lie, []sim.NodeID{9, 10, 11, 20})
		for _, host := range list[:3] {
			s.answer(s.g.now, host, list)
		}
		for _, host := range group[:2] {
			s.answerOf(s.g.now, host, version, group)
		}
		s.g.Step(s.g.collect.by, Input{}, &s.out)
	}
	s.publishes(t, list[:3], []sim.NodeID{4, 5, 9, 10, 11, 20})
}

// TestLateOfSmallerList: RM-A18: the manager has gone on with its group, which is larger than the list of which three members
// were heard. The two others, which are heard later, join again at once.
func TestLateOfSmallerList(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group := []sim.NodeID{9, 10, 11, 12, 13}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	s.heardAgain(s.g.version, group)
	s.hear(s.g.now+20*time.Second, group...)
	s.told(s.g.now, 4, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	s.told(s.g.now, 5, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 2}})
	if len(s.g.collect.probes) > 0 {
		t.Errorf("%d members are asked", len(s.g.collect.probes))
	}
	s.publishes(t, group, []sim.NodeID{1, 2, 3, 4, 5})
}

// TestForgottenMember: RM-A9: a manager has gone on with an earlier list. A node that no member of that list has named, but
// that reports another list, is not asked: it joins as a new member.
func TestForgottenMember(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	for _, host := range list {
		s.answer(2, host, list)
	}
	s.publishes(t, list, nil)
	s.hear(s.g.now+time.Minute, list...)
	s.told(s.g.now, 20, &wire.Order{Kind: wire.OrderReport, Epoch: 400, Version: wire.Version{Epoch: 400, Counter: 1}})
	if len(s.g.collect.probes) > 0 {
		t.Errorf("%d members are asked", len(s.g.collect.probes))
	}
	s.publishes(t, list, []sim.NodeID{20})
}

// TestListInTheNameOfOthers: RM-A18: a node names, beside the members of the manager's group and itself, a member of an
// earlier list that is not heard. When that member is heard, with three others of its list, the manager asks it.
func TestListInTheNameOfOthers(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group := []sim.NodeID{9, 10, 11}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	now, list := s.g.now+s.g.cfg.Takeover, wire.Version{Epoch: 500, Counter: 9}
	s.hear(now, group...)
	s.told(now, 20, &wire.Order{Kind: wire.OrderReport, Epoch: list.Epoch, Version: list})
	s.answerOf(now, 20, list, append(slices.Clone(group), 1, 20))
	for by := s.g.collect.by; len(s.g.collect.probes) > 0 && s.g.now < by+time.Second; {
		s.hear(s.g.now+s.g.cfg.Heartbeat, group...)
	}
	s.told(s.g.now+20*time.Second, 1, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	if s.g.collect.probe(testID(1)) == nil {
		t.Error("the member is not asked")
	}
}

// TestListOfItself: RM-15, RM-40, RM-A18: a node with a list of itself alone does not become the only voter of a group, which
// goes on when that node is silent: not of a group of one, not before all members have the first list, and not where there is
// no room for it, so that it takes no member's place.
func TestListOfItself(t *testing.T) {
	spec.Covers(t, "RM-15", "RM-40", "RM-A18")
	for _, tt := range []struct {
		what         string
		managers     int
		group        []sim.NodeID
		acknowledged bool
		room         int
		left         uint64 // members left behind for their silence
		names        bool   // the node's list names the members of the group too
	}{
		{"one manager", 1, []sim.NodeID{9, 10, 11, 12, 13}, true, 0, 1, false},
		{"no room", 1, []sim.NodeID{9, 10, 11, 12, 13}, true, 5, 0, false},
		{"no room, named", 1, []sim.NodeID{9, 10, 11, 12, 13}, true, 5, 0, true},
		{"group of one", 2, []sim.NodeID{9}, true, 0, 0, false},
		{"group of one, named", 2, []sim.NodeID{9}, true, 0, 0, true},
		{"first list", 2, []sim.NodeID{9, 10, 11, 12, 13}, false, 0, 0, false},
		{"first list, named", 2, []sim.NodeID{9, 10, 11, 12, 13}, false, 0, 0, true},
	} {
		s := unacknowledged(tt.managers, tt.group...)
		s.g.cfg.Members = cmp.Or(tt.room, s.g.cfg.Members)
		now, version, list, named := s.g.now+s.g.cfg.Takeover, s.g.version, wire.Version{Epoch: 400, Counter: 1}, []sim.NodeID{20}
		if tt.names {
			named = append(slices.Clone(tt.group), 20)
		}
		if tt.acknowledged {
			s.hear(s.g.now, tt.group...)
			s.hear(now, tt.group...)
		}
		s.told(now, 20, &wire.Order{Kind: wire.OrderReport, Epoch: list.Epoch, Version: list})
		for range 2 { // the manager may be elected anew, and ask again
			s.answerOf(now, 20, list, named)
			for _, host := range tt.group {
				s.answerOf(now, host, version, tt.group)
			}
			s.wait()
		}
		for end := s.g.now + time.Minute; s.g.now < end; {
			s.hear(s.g.now+s.g.cfg.Heartbeat, tt.group...)
		}
		if s.g.alone || s.g.epoch != version.Epoch || s.g.usable != s.g.version || s.g.stats.Silent != tt.left {
			t.Errorf("%s: alone %v, epoch %d, usable %v of %v, %d left behind", tt.what, s.g.alone, s.g.epoch, s.g.usable, s.g.version, s.g.stats.Silent)
		}
		s.publishes(t, tt.group, []sim.NodeID{20})
	}
}

// TestListOfOwnMembers: RM-A18: a node that answers with a list of the manager's own members and itself has no backers
// but itself, so the manager goes on.
func TestListOfOwnMembers(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group := []sim.NodeID{9, 10, 11, 12, 13}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	epoch, now, list := s.g.epoch, s.g.now+s.g.cfg.Takeover, wire.Version{Epoch: 400, Counter: 1}
	s.hear(now, group...)
	s.told(now, 20, &wire.Order{Kind: wire.OrderReport, Epoch: list.Epoch, Version: list})
	s.answerOf(now, 20, list, append(slices.Clone(group), 20))
	s.publishes(t, group, []sim.NodeID{20})
	if s.g.epoch != epoch || len(s.g.collect.probes) > 0 {
		t.Errorf("epoch %d after %d, %d probes", s.g.epoch, epoch, len(s.g.collect.probes))
	}
}

// TestFullWithEarlierMembers: RM-40: a manager without a list has listed a node, and hears then of as many members of an
// earlier list as the group may have. The node has to join again, so the group does not become larger than it may be.
func TestFullWithEarlierMembers(t *testing.T) {
	spec.Covers(t, "RM-40")
	for _, acknowledged := range []bool{false, true} {
		s, list := newSearch(), []sim.NodeID{1, 2, 3, 4}
		s.g.cfg.Members = 4
		s.told(1, 9, &wire.Order{Kind: wire.OrderJoin})
		if s.publishes(t, []sim.NodeID{9}, nil); acknowledged {
			s.hear(1, 9)
		}
		s.begin(list...)
		for _, host := range list {
			s.answer(2, host, list)
		}
		if s.publishes(t, list, []sim.NodeID{9}); s.g.stats.Full != 1 {
			t.Errorf("acknowledged: %v: %d nodes found no room", acknowledged, s.g.stats.Full)
		}
	}
}

// TestNoRoomLeavesBehind: RM-40, RM-15: a group of nodes that have joined, and earlier members that are heard again, are more
// than the group may have. The next list names the member that has to join again as one that was left behind: others may
// have messages that wait for it, and it acknowledges nothing any more.
func TestNoRoomLeavesBehind(t *testing.T) {
	spec.Covers(t, "RM-40", "RM-15")
	s, joined := startedOver(1, 9, 10), []sim.NodeID{9, 10}
	s.g.cfg.Members = 4
	s.publishes(t, joined, nil)
	s.heardAgain(s.g.version, joined)
	s.publishes(t, []sim.NodeID{1, 2, 3, 9}, []sim.NodeID{4, 5, 10})
	o := &s.g.latest
	if silent := o.Departed[len(o.Departed)-int(o.Silent):]; !slices.Contains(silent, testID(10)) {
		t.Errorf("%v were left behind, of %v that have departed", silent, o.Departed)
	}
}

// TestFewOfLaterList: RM-A9, RM-A18: as in TestOneListInAnEpoch, but most members of the manager's group are cut off, and may
// have another manager. The one that is heard joins again, although no earlier list is later than its own: messages that it
// has sent must not be released without the others.
func TestFewOfLaterList(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	group, list := []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{1, 2, 3, 4, 5}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	version := s.g.version
	for end := s.g.now + s.g.cfg.Takeover; s.g.now < end; {
		s.hear(s.g.now+s.g.cfg.Heartbeat, 9)
	}
	for _, host := range list[:3] {
		s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
	for len(s.g.collect.probes) > 0 {
		for _, host := range list[:3] {
			s.answer(s.g.now, host, list)
		}
		s.answerOf(s.g.now, 9, version, group)
		s.g.Step(s.g.collect.by, Input{}, &s.out)
	}
	s.publishes(t, list[:3], []sim.NodeID{4, 5, 9, 10, 11, 12, 13})
}

// TestListAfterEmptyGroup: RM-A18: the only member of a manager's group has died, or is leaving. When a member of an earlier
// list, which has no other member, is heard, that list goes on.
func TestListAfterEmptyGroup(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, leaves := range []bool{false, true} {
		s := startedOver(2, 9)
		s.publishes(t, []sim.NodeID{9}, nil)
		now, expelled := s.g.now+s.g.cfg.Takeover, []sim.NodeID{9}
		if !leaves {
			s.g.Step(s.g.now, Input{Kind: Health, From: hostNID(9)}, &s.out)
		}
		s.told(now, 1, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
		if leaves {
			expelled = nil
			s.told(now, 9, &wire.Order{Kind: wire.OrderReport, Flags: wire.OrderLeaving, Epoch: s.g.epoch, Version: s.g.version, Oldest: s.g.version})
		}
		s.answer(now, 1, []sim.NodeID{1})
		s.publishes(t, []sim.NodeID{1}, expelled)
	}
}

// TestFewExpelNone: RM-A18: as in TestFewOfLaterList, but as many members of the group are heard as of the other list. Neither
// list has more, and the manager hears too few of its group to change it: it expels no member, and asks again later.
func TestFewExpelNone(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group, list := []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{1, 2, 3}
	s := startedOver(2, group...)
	s.publishes(t, group, nil)
	for range 2 {
		for end := s.g.now + 6*s.g.cfg.Takeover; s.g.now < end; {
			s.hear(s.g.now+s.g.cfg.Heartbeat, group[:2]...)
		}
		for _, host := range list[:2] {
			s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
		}
		for _, host := range list[:2] {
			s.answer(s.g.now, host, list)
		}
		for len(s.g.collect.probes) > 0 {
			s.hear(s.g.now+s.g.cfg.Heartbeat, group[:2]...)
		}
		s.publishes(t, group, nil)
	}
	if !s.g.alone || len(s.g.collect.probes) > 0 || s.g.stats.Collections != 3 {
		t.Errorf("alone %v, %d probes, %d searches", s.g.alone, len(s.g.collect.probes), s.g.stats.Collections)
	}
}

// TestFewHeardAgain: RM-A18: as in TestFewExpelNone. Then one more member is heard: if it is of the group, the members of the
// other list are told at once to join again; if it is of the other list, that list goes on after Takeover.
func TestFewHeardAgain(t *testing.T) {
	spec.Covers(t, "RM-A18")
	group, list := []sim.NodeID{9, 10, 11, 12, 13}, []sim.NodeID{1, 2, 3}
	for _, c := range []struct {
		later                          time.Duration
		group, list, members, expelled []sim.NodeID
	}{
		{time.Second, group[:3], list[:2], group, list[:2]},
		{3 * time.Second, group[:2], list, list, group},
	} {
		s := startedOver(2, group...)
		s.publishes(t, group, nil)
		version := s.g.version
		hear := func(d time.Duration, hosts []sim.NodeID) {
			for end := s.g.now + d; s.g.now < end; {
				s.hear(s.g.now+s.g.cfg.Heartbeat, hosts...)
			}
		}
		report := func(hosts, heard []sim.NodeID) {
			for _, host := range hosts {
				s.told(s.g.now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
			}
			for len(s.g.collect.probes) > 0 {
				for _, host := range hosts {
					s.answer(s.g.now, host, list)
				}
				for _, host := range heard {
					s.answerOf(s.g.now, host, version, group)
				}
				hear(s.g.cfg.Heartbeat, heard)
			}
		}
		hear(6*s.g.cfg.Takeover, group[:2])
		report(list[:2], group[:2])
		hear(c.later, c.group)
		report(c.list, c.group)
		s.publishes(t, c.members, c.expelled)
	}
}
