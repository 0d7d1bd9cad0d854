package scollsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
)

// TestGroupsOfAllNodes: SC-85, SC-156: there are more servers (with ULNET_LONG a thousand) than a
// member's cache has room for groups. Each server creates a group of all servers and broadcasts over
// it, several at a time. Then servers whose groups were displaced broadcast again. No broadcast
// is refused, and each reaches all members once. By default the cache has room for a thousand
// groups; here it has room for 256.
func TestGroupsOfAllNodes(t *testing.T) {
	spec.Covers(t, "SC-85", "SC-156")
	nodes, roots, again := 100, 90, 20
	if effort.Long() {
		nodes, roots, again = 1000, 1000, 1000
	}
	const atATime = 20
	cfg := scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Topology: flat()}, Bare: true, Tree: scoll.Tree{Type: scoll.KNomial, K: 4},
		Scoll: scoll.Config{RTT: 20 * time.Millisecond, MaxActive: 256, MaxGroups: min(256, roots*5/6), MaxMembers: 16384},
	}
	n, err := scollsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := func(d time.Duration) {
		if err := n.Run(n.Now() + d); err != nil {
			t.Fatal(err)
		}
	}
	run(time.Millisecond)
	each := func(verb string, roots int) {
		for first := 0; first < roots; first += atATime {
			for root := first; root < min(first+atATime, roots); root++ {
				n.Command(sim.NodeID(root*7919%nodes), fmt.Sprintf(verb, root))
			}
			run(time.Second)
		}
	}
	each("create g%d immediate", roots)
	each("broadcast g%d", roots)
	each("broadcast g%d", again)
	all := n.Broadcasts()
	for _, b := range all {
		if b.Outcome != scollsim.Ended || len(b.Missing) > 0 || len(b.Answered) != nodes-1 {
			t.Fatalf("broadcast %d: %d answered, %d missing, outcome %d, %v", b.Number, len(b.Answered), len(b.Missing), b.Outcome, b.Status)
		}
	}
	if err := n.Once(); err != nil || len(all) != roots+again {
		t.Errorf("%d broadcasts, %v", len(all), err)
	}
	for id := range sim.NodeID(nodes) {
		if known := len(n.Groups(id)); known > cfg.Scoll.MaxGroups+1 { // one more for the node's own group
			t.Errorf("node %d knows %d groups", id, known)
		}
	}
	if s := n.Counters(); s.Displaced == 0 || s.Busy > 0 {
		t.Errorf("%+v", s)
	}
}
