package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestJoinsAfterCanvass: RM-A9: a manager restarts, the other manager and most members are dead, and the manager asks the
// members that are left before any node wants to join. A node that asks later becomes a member all the same: the manager
// begins a group with it.
func TestJoinsAfterCanvass(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := parted(t, 6, 2)
	w.rejoin = false
	for _, id := range []sim.NodeID{0, 1, 4, 5} {
		w.net.Crash(id)
	}
	w.run(time.Second)
	w.net.Start(0, false)
	w.run(5 * time.Second)
	w.net.Start(5, false)
	w.run(0)
	w.net.Command(5, "join")
	w.run(20 * time.Second)
	if h := w.hosts[5]; h.m.state != member {
		t.Errorf("node 5 is %v, the manager %v, %+v", h.m.state, w.hosts[0].g.role, w.hosts[0].g.stats)
	}
}

// TestJoinsInFailedSearch: RM-A9: one of two managers knows of no list, and asks a member of an old one. Meanwhile a node
// joins. The search finds no majority of the old list: the node stays, and the group begins with it.
func TestJoinsInFailedSearch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch()
	s.g.cfg.Managers = append(s.g.cfg.Managers, hostNID(98))
	s.begin(1)
	s.answer(2, 1, []sim.NodeID{1, 2, 3, 4, 5})
	s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{9}, nil)
	if s.g.role != active || s.g.stats.Alone > 0 {
		t.Errorf("the manager is %v, alone %v", s.g.role, s.g.alone)
	}
}
