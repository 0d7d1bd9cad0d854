package rmcast_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// TestRestartWithGossip: RM-A8: a node restarts within a second, and joins again. Gossip on it is silent after its
// start, so that gossip elsewhere becomes certain of a death when the new member has long joined. That is the death of
// the earlier member: the new one stays a member, and messages wait for it.
func TestRestartWithGossip(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-28")
	s := newGossips(t, 5, 5, 2)
	s.run(time.Second)
	s.restart(2)
	died := false
	for range 100 {
		s.run(gossipInterval)
		died = died || s.views[0].Ended(s.nodes[2].nid(), time.Hour)
	}
	if alive, deaths := s.views[0].Alive(s.nodes[2].nid()); !died || !alive || deaths != 1 {
		t.Fatalf("certain of the death: %v; alive: %v, after %d deaths", died, alive, deaths)
	}
	m, _ := s.nodes[0].agent.Managed(group)
	if k := s.nodes[2]; len(k.gone) > 0 || m.Stats.Failures != 1 || len(m.Members) != 5 {
		t.Errorf("the new member was told %v; the manager: %+v", k.gone, m)
	}
}

// TestRestartedDies: RM-A8, RM-28: a node restarts, and dies again before gossip has heard of its second member.
// Gossip reports one death. It counts as the death of the second member as well, once so much time has passed that
// gossip would have heard of this member if it lived.
func TestRestartedDies(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-28")
	s := newGossips(t, 5, 5, 1)
	s.run(time.Second)
	s.restart(2)
	s.run(time.Second)
	s.fabric.Crash(2)
	s.nodes[0].post("x")
	s.run(12 * time.Second)
	if done := s.nodes[0].done; len(done) != 1 || done[0].err != nil || len(done[0].result.Failed) != 1 {
		t.Errorf("%+v", done)
	}
}

// restart restarts a node within a second. Gossip on it is silent at first.
func (s *stacks) restart(id int) {
	s.t.Helper()
	s.silent = true
	s.fabric.Crash(sim.NodeID(id))
	s.run(500 * time.Millisecond)
	s.fabric.Start(sim.NodeID(id), false)
	s.run(500 * time.Millisecond)
}

func (k *stack) nid() nid.NID { return simlnd.NID(sim.NodeID(k.id)) }
