package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestElectorateBefore: RM-A18: the manager dies, and half of the members of the list before its latest one lack the
// latest one, which has two nodes more. The next manager continues from the latest list, and is cut off before those
// members get one of its lists. With the two new nodes it hears most members of its list, but not most of those of
// the list before. It changes nothing, because the others may elect a manager from the list before, and do so.
func TestElectorateBefore(t *testing.T) {
	spec.Covers(t, "RM-A18")
	w := newWorld(t, 10, func(w *world, _ *sim.Config[*packet]) {
		w.managers, w.wall, w.rejoin, w.manager.MemberTimeout = 3, testWall, true, 5*time.Second
	})
	w.run(0)
	join := func(ids ...sim.NodeID) {
		for _, id := range ids {
			w.net.Command(id, "join")
		}
	}
	join(3, 4, 5, 6)
	w.run(3 * time.Second)
	join(7)
	w.run(3 * oneWay / 2)
	join(8, 9) // they wait until all have the list with node 7
	w.loss = func(_, to sim.NodeID, p *packet) bool {
		o, err := wire.ParseOrder(p.data)
		return p.kind == Instructed && err == nil && o.Kind == wire.OrderList && len(o.Members) == 7 && slices.Contains([]sim.NodeID{3, 4, 5}, to)
	}
	w.run(time.Second)
	w.net.Crash(0)
	g := w.hosts[1].g
	for g.role != active || !g.version.IsValid() || len(g.latest.Members) < 7 {
		w.run(time.Millisecond)
	}
	w.net.Partition(sim.Nodes(1, 6, 7, 8, 9))
	w.loss = nil
	w.run(30 * time.Second)
	if !g.alone || g.stats.Silent > 0 {
		t.Errorf("the one cut off: %v, alone %v, %d members of %d, %d left behind", g.role, g.alone, len(g.members), len(g.latest.Members), g.stats.Silent)
	}
	if g := w.hosts[2].g; g.role != active || g.alone {
		t.Errorf("the other one: %v, alone %v", g.role, g.alone)
	}
}

// TestVotersBefore: RM-A18: a new manager continues from a list of which no member knows that all had it. Its first list
// names the same voters as that list. A member that is left behind because it does not answer is no voter, and comes after
// a voter that was left behind before.
func TestVotersBefore(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, answers := range []int{5, 4} {
		s := newSearch()
		s.begin(1, 2, 3, 4)
		for host := range sim.NodeID(answers) {
			o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 4}, Window: 5, Voters: 4, Of: 4, Departed: []wire.ID{testID(6)}, Silent: 1}
			for host := range sim.NodeID(5) {
				o.Members = append(o.Members, wire.Member{ID: testID(host + 1), Number: uint32(host + 1)})
			}
			s.told(3, host+1, &o)
		}
		s.g.Step(s.g.collect.by, Input{}, &s.out)
		o, silent := &s.g.latest, 6-answers
		s.publishes(t, []sim.NodeID{1, 2, 3, 4, 5}[:answers], []sim.NodeID{5}[:silent-1])
		voters := slices.DeleteFunc(slices.Clone(o.Members), func(m wire.Member) bool { return m.Number >= o.Voters })
		if len(voters) != 3 || hostID(voters[2].NID) != 3 || int(o.Silent) != silent || o.Of != 4 || o.Departed[len(o.Departed)-silent] != testID(6) {
			t.Errorf("%v and %d silent ones of %d vote", voters, o.Silent, o.Of)
		}
	}
}

// TestSilentNoVoters: RM-A18: three of five voters are on a list that not all members had, and two were left behind. So were
// two members that were no voters, and have ended since: that does not make two voters a majority of the five.
func TestSilentNoVoters(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, tt := range []struct {
		ended  []sim.NodeID
		backed bool
	}{{nil, false}, {[]sim.NodeID{9, 10}, false}, {[]sim.NodeID{4, 5}, true}} {
		s := newSearch()
		s.begin(1, 2)
		for _, host := range []sim.NodeID{1, 2} {
			o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 4}, Window: 3, Voters: 6, Of: 5, Silent: 4}
			for host := range sim.NodeID(3) {
				o.Members = append(o.Members, wire.Member{ID: testID(host + 1), Number: uint32(host + 1)})
			}
			o.Departed = []wire.ID{testID(4), testID(5), testID(9), testID(10)}
			s.told(3, host, &o)
		}
		for _, host := range tt.ended {
			s.g.Step(4, Input{Kind: Health, From: hostNID(host)}, &s.out)
		}
		s.g.Step(s.g.collect.by, Input{}, &s.out)
		if got := s.g.version.IsValid(); got != tt.backed {
			t.Errorf("%v have ended: the manager continues: %v", tt.ended, got)
		}
	}
}

// TestSilentBefore: RM-A18: the list from which a new manager continues names members that were left behind, and all its
// members had it. So they cannot continue from a list before with those left behind, which do not count any more.
func TestSilentBefore(t *testing.T) {
	spec.Covers(t, "RM-A18")
	w := parted(t, 5, 3)
	w.net.Kill(3)
	w.net.Kill(4)
	w.run(6 * time.Second)
	if g := w.hosts[0].g; g.stats.Silent != 2 || g.usable != g.version {
		t.Fatalf("%d left behind, usable %v of %v", g.stats.Silent, g.usable, g.version)
	}
	w.net.Crash(0)
	g := w.hosts[1].g
	for g.role != active || !g.version.IsValid() || len(g.latest.Members) == 0 {
		w.run(time.Millisecond)
	}
	if o := &g.latest; o.Of != 3 || o.Silent != 1 { // node 0 does not answer
		t.Errorf("%d silent ones of %d vote", o.Silent, o.Of)
	}
}

// TestEndedVoter: RM-A18: a member answers a new manager and then dies, or most members say that it has ended. It does not
// count as a voter any more, but one that does not answer does.
func TestEndedVoter(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, says := range []bool{false, true} {
		s, list, ended := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}, []wire.ID(nil)
		if says {
			ended = []wire.ID{testID(4)}
		}
		s.begin(list[:4]...)
		for _, host := range list[:3] {
			s.answer(3, host, list, ended...)
		}
		s.answer(3, 4, list)
		if !says {
			s.g.Step(4, Input{Kind: Health, From: hostNID(4)}, &s.out)
		}
		s.g.Step(s.g.collect.by, Input{}, &s.out)
		if o := &s.g.latest; len(o.Members) != 3 || o.Of != 4 || o.Silent != 1 {
			t.Errorf("most say so: %v: %d members, and %d silent ones of %d vote", says, len(o.Members), o.Silent, o.Of)
		}
	}
}
