package lnetsim

import (
	"strconv"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
)

// TestMemory: the estimate bytesPerNode is close to the memory of stacks that have exchanged messages.
func TestMemory(t *testing.T) {
	nodes := effort.Of(100, 100, 300)
	for _, partners := range []int{4, 16, 64} {
		before := heap()
		n, err := newNetwork(config{Network: scenario.Network{Nodes: nodes}, Discovery: true, Partners: partners, Operations: 6 * partners})
		if err != nil {
			t.Fatal(err)
		}
		run(t, n, 10*time.Second)
		took := int64(heap()-before) / int64(nodes)
		if s := n.stats; s.Answered != uint64(6*partners*nodes) {
			t.Fatalf("%+v", s)
		}
		want := bytesPerNode(scenario.Stacks, nodes, scenario.Values{"partners": strconv.Itoa(partners)})
		t.Logf("%d partners: %d bytes, predicted %d", partners, took, want)
		if want < took*3/4 || want > took*3/2 {
			t.Errorf("%d partners take %d bytes per node, predicted %d", partners, took, want)
		}
	}
}
