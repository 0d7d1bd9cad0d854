package scoll_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll"
)

// TestLatency: the root counts how long each broadcast took, from Send to the results, also if a member
// does not answer; members count nothing.
func TestLatency(t *testing.T) {
	spec.Covers(t, "OP-91")
	s := newStacks(t, 8, nil)
	g := s.group(3, false, scoll.Tree{})
	var sum time.Duration
	for range 2 {
		sum += s.broadcast(3, g, scoll.RequestConfig{}).at
	}
	got := s.nodes[3].agent.Latency()
	if got.Count() != 2 || got.Sum > sum || got.Sum < sum/2 || sum == 0 {
		t.Errorf("%d broadcasts, %v together; want 2, about %v", got.Count(), got.Sum, sum)
	}
	s.fabric.Crash(2)
	late := s.broadcast(3, g, scoll.RequestConfig{})
	if len(late.unreached) == 0 {
		t.Fatal("the member that crashed has answered")
	}
	after := s.nodes[3].agent.Latency()
	if d := after.Sum - got.Sum; after.Count() != 3 || d < late.at/2 || d > late.at {
		t.Errorf("the broadcast that a member did not answer: %d broadcasts, %v; it took %v", after.Count(), d, late.at)
	}
	for _, k := range s.nodes {
		if got := k.agent.Latency(); k.id != 3 && got.Count() != 0 {
			t.Errorf("member %d has timed %d broadcasts", k.id, got.Count())
		}
	}
}
