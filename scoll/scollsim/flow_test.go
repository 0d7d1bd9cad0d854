package scollsim_test

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
)

// flood makes several roots broadcast at the same time, each of them the given number of times,
// and returns when all broadcasts have ended.
func flood(t *testing.T, cfg scollsim.Config, roots, each int, within time.Duration) *scollsim.Net {
	t.Helper()
	cfg.Ran = inOrder(t)
	n, err := scollsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Group("oob"); err != nil {
		t.Fatal(err)
	}
	for range each {
		for root := range roots {
			n.Begin(sim.NodeID(root), "")
		}
	}
	under := func() (count int) {
		for _, b := range n.Broadcasts() {
			if b.Outcome == scollsim.UnderWay {
				count++
			}
		}
		return count
	}
	for end := n.Now() + within; under() > 0; {
		if n.Now() > end {
			t.Fatalf("%d broadcasts are not over after %v", under(), within)
		}
		if err := n.Run(n.Now() + 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// inOrder returns a function for Config.Ran. The test fails if an incarnation of a node runs the
// broadcasts of a root in another order than that in which they were sent. The network has to keep
// messages in order, and services must not take any time.
func inOrder(t *testing.T) func(*scollsim.Broadcast, sim.Incarnation) {
	type course struct {
		by   sim.Incarnation
		root sim.NodeID
	}
	latest := make(map[course]uint32)
	return func(b *scollsim.Broadcast, by sim.Incarnation) {
		c := course{by, b.Root}
		if b.Number < latest[c] {
			t.Errorf("node %v ran broadcast %d of node %v after %d", by.Node, b.Number, b.Root, latest[c])
		}
		latest[c] = max(latest[c], b.Number)
	}
}

// reachedAll fails the test unless every broadcast was sent and reached all its members.
func reachedAll(t *testing.T, n *scollsim.Net) {
	t.Helper()
	bad := map[scoll.Status]int{}
	for _, b := range n.Broadcasts() {
		if b.Outcome == scollsim.NotSent {
			bad[b.Status]++
		}
		for _, m := range b.Missing {
			bad[m.Status]++
		}
	}
	if len(bad) > 0 {
		t.Errorf("not sent, or members not reached: %v; %+v", bad, n.Counters())
	}
	for _, err := range []error{n.Exact(), n.Once()} {
		if err != nil {
			t.Error(err)
		}
	}
}

func steady(nodes, maxActive int) scollsim.Config {
	return scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}},
		Scoll:   scoll.Config{RTT: 4 * time.Millisecond, Guard: 2 * time.Millisecond, MaxActive: maxActive},
	}
}

// TestEightRoots: SC-3, SC-A30: eight roots broadcast at the same time, a thousand times each,
// to the same sixteen members, with the default number of slots and with few. No member is
// reported as busy or late, all broadcasts end, and each member runs the broadcasts of one root
// in their order.
func TestEightRoots(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-A30")
	for slots, each := range map[int]int{0: 1000, 16: 300, 4: 100, 1: 50} {
		each /= effort.Of(3, 3, 1)
		n := flood(t, steady(16, slots), 8, each, time.Minute)
		reachedAll(t, n)
		c := n.Counters()
		t.Logf("%d slots: %d times in %v; %d held, %d too long, %d waited, %d slowed", slots, each, n.Now(), c.Held, c.HeldTooLong, c.Waited, c.Slowed)
		if slots > 0 && c.Held == 0 {
			t.Error("no request was held")
		}
	}
}

// TestEightRootsOfStacks: as TestEightRoots, but with whole agents above portals and LNet,
// and fewer broadcasts.
func TestEightRootsOfStacks(t *testing.T) {
	cfg := steady(8, 3)
	cfg.Stacks = true
	n := flood(t, cfg, 8, 40, time.Minute)
	if reachedAll(t, n); n.Counters().Held == 0 {
		t.Error("no request was held")
	}
}
