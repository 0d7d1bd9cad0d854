package rmcast_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

const (
	gossipInterval = 200 * time.Millisecond
	askEvery       = 250 * time.Millisecond
	gossipDeath    = 20 * gossipInterval // by then, gossip of few nodes has noticed a death
)

// newGossips makes n stacks with gossip among the first participants of them, and a group with a
// number of managers, whose View is the gossip of their node.
func newGossips(t *testing.T, n, participants, managers int) *stacks {
	t.Helper()
	var all, manage []nid.NID
	for id := range sim.NodeID(n) {
		if int(id) < participants {
			all = append(all, simlnd.NID(id))
		}
		if int(id) < managers {
			manage = append(manage, simlnd.NID(id))
		}
	}
	s := &stacks{t: t, nodes: make([]*stack, n), views: make([]*gossip.Agent, n)}
	s.change = func(id int, agent *rmcast.Config, cfg *rmcast.GroupConfig) {
		cfg.Managers = manage
		if id >= participants {
			return
		}
		view, err := gossip.New(s.nodes[id].table, gossip.Config{Participants: all, Interval: gossipInterval, ColdStart: !s.silent, Seed: 1})
		if err != nil {
			t.Error(err)
		}
		agent.View, s.views[id] = view, view
	}
	s.start(link.Quality{})
	s.form(n)
	s.run(gossipDeath) // until each node has heard of all
	return s
}

// TestMinorityHearsDeaths: RM-2, RM-A18: the network is partitioned, and the active manager or one on standby is in
// the minority. Gossip there reports the members of the majority as dead, one after the other. No message is released
// in the minority: the first deaths do not count, although gossip still has its quorum when it reports them. The
// majority goes on, and in the end there is one group again.
func TestMinorityHearsDeaths(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A18")
	for _, tt := range []struct {
		name     string
		minority []int
	}{
		{"the active manager", []int{0, 3}},
		{"a standby manager", []int{1, 3}},
		{"both managers", []int{0, 1}},
	} {
		s := newGossips(t, 5, 5, 2)
		s.fabric.Partition(sim.Nodes(sim.NodeID(tt.minority[0]), sim.NodeID(tt.minority[1])))
		s.run(time.Millisecond)
		for _, id := range tt.minority {
			s.nodes[id].post("early")
		}
		s.run(gossipDeath + 10*time.Second)
		for _, id := range tt.minority {
			k := s.nodes[id]
			k.post("late")
			if list, err := k.group.Members(); len(list) != 5 || !errors.Is(err, rmcast.ErrQuorum) {
				t.Errorf("%s: node %d: %d members, %v", tt.name, id, len(list), err)
			}
			if m, ok := k.agent.Managed(group); ok && m.Active && !m.Alone {
				t.Errorf("%s: node %d manages: %+v", tt.name, id, m)
			}
		}
		s.run(5 * time.Second)
		for _, id := range tt.minority {
			if done := s.nodes[id].done; len(done) > 0 {
				t.Errorf("%s: node %d: %+v", tt.name, id, done)
			}
		}
		s.fabric.Heal()
		s.run(30 * time.Second)
		active := 0
		for _, k := range s.nodes {
			if m, ok := k.agent.Managed(group); ok && m.Active {
				active++
			}
		}
		if active != 1 {
			t.Errorf("%s: %d active managers in the end", tt.name, active)
		}
	}
}

// TestDeathsWithGossip: RM-28: nodes die, and messages wait for them only until gossip is certain of the deaths, which
// takes a few cycles more than to notice them. If most participants of gossip live, the members go on even if they are
// not the majority of the group. If most participants are dead, messages wait.
func TestDeathsWithGossip(t *testing.T) {
	spec.Covers(t, "RM-28")
	for _, tt := range []struct {
		name  string
		leave []int // nodes that are no members
		dead  []int
		over  bool
	}{
		{"two of five", nil, []int{1, 4}, true},
		{"one of two members, and most participants live", []int{1, 2, 3}, []int{4}, true},
		{"two of three members, and most participants live", []int{1, 2}, []int{3, 4}, true},
		{"three of five", nil, []int{2, 3, 4}, false},
	} {
		s := newGossips(t, 5, 5, 1)
		for _, id := range tt.leave {
			s.nodes[id].host.Do(s.nodes[id].group.BeginLeave)
		}
		s.run(time.Second)
		for _, id := range tt.dead {
			s.fabric.Crash(sim.NodeID(id))
		}
		s.nodes[0].post("x")
		began := s.fabric.Now()
		if s.run(15 * time.Second); len(s.nodes[0].done) > 0 != tt.over {
			t.Fatalf("%s: %+v", tt.name, s.nodes[0].done)
		}
		if !tt.over {
			continue
		}
		if done := s.nodes[0].done[0]; done.err != nil || len(done.result.Failed) != len(tt.dead) || done.at-began > 23*gossipInterval {
			t.Errorf("%s: after %v: %+v", tt.name, done.at-began, done)
		}
	}
}

// view is a View whose reports the test makes. It is certain of all deaths if ended is set, otherwise of none.
type view struct {
	told  func(id nid.NID, alive bool, lifetime uint64)
	ended bool
	asked int
	ago   time.Duration // argument of the latest call of Ended
}

func (v *view) Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func()) {
	v.told = f
	return func() {}
}

func (v *view) Ended(_ nid.NID, ago time.Duration) bool {
	v.asked, v.ago = v.asked+1, ago
	return v.ended
}

// TestDoubtedDeath: RM-A8: a View reports a death of which it is not certain. The manager asks the View about the
// death again and again, until the View is certain of it and the manager hears no member on the node, or until the
// node is reported alive. The manager does not ask when it doubts no death, or after Unmanage.
func TestDoubtedDeath(t *testing.T) {
	spec.Covers(t, "RM-A8")
	v := new(view)
	s := newStacks(t, 3, link.Quality{}, func(id int, agent *rmcast.Config, _ *rmcast.GroupConfig) {
		if id == 0 {
			agent.View = v
		}
	})
	s.form(3)
	formed := s.fabric.Now()
	k := s.nodes[0]
	tell := func(id sim.NodeID, alive bool) { k.host.Do(func() { v.told(simlnd.NID(id), alive, 1) }) }
	asks := func() int {
		before := v.asked
		s.run(2 * time.Second)
		return v.asked - before
	}
	members := func() int { return len(k.group.Status().Members) }
	tell(2, false)
	if n := asks(); n < 5 || members() != 3 {
		t.Errorf("asked %d times; %d members", n, members())
	}
	if now := s.fabric.Now(); v.ago < now-formed-askEvery || v.ago > now {
		t.Errorf("asked about a member that ran %v ago; the group was formed %v ago", v.ago, now-formed)
	}
	tell(2, true)
	if n := asks(); n > 1 || asks() > 0 {
		t.Errorf("asked %d times of a live node", n)
	}
	v.ended = true
	tell(2, false)
	if n := asks(); n < 5 || members() != 3 {
		t.Errorf("asked %d times of a member that is heard; %d members", n, members())
	}
	s.fabric.Crash(2)
	asks()
	asks()
	if n := asks(); n > 0 || members() != 2 {
		t.Errorf("asked %d times; %d members", n, members())
	}
	v.ended = false
	tell(1, false)
	k.host.Do(func() { k.agent.Unmanage(group) })
	if n := asks(); n > 0 {
		t.Errorf("asked %d times after Unmanage", n)
	}
}
