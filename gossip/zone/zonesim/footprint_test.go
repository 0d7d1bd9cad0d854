//go:build !race

package zonesim

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestBytesPerNode: nodes that start at once need at most the memory that bytesPerNode returns,
// so a run that is too large is refused before it begins. Machines need at least about a third
// of that estimate. With -v the test prints the memory of each node at its peak and at rest.
func TestBytesPerNode(t *testing.T) {
	sizes := []int{64, 256, 1024, 2048}[:effort.Of(1, 1, 4)]
	for _, level := range []scenario.Level{scenario.Machines, scenario.Stacks} {
		for _, nodes := range sizes {
			if level == scenario.Stacks && nodes > 64 {
				continue
			}
			peak, rest := footprint(t, nodes, level)
			said := bytesPerNode(level, nodes, scenario.Values{"zones": "1"})
			t.Logf("%v, a zone of %d: %d bytes a node at the peak, %d at rest; said %d", level, nodes, peak, rest, said)
			if peak > said || level == scenario.Machines && peak < said/3 {
				t.Errorf("%v, a zone of %d: %d bytes per node, said %d", level, nodes, peak, said)
			}
		}
	}
}

// footprint returns the memory that each node takes: at its peak while a zone starts, and at rest.
func footprint(t *testing.T, nodes int, level scenario.Level) (peak, rest int64) {
	t.Helper()
	before := heap()
	n, err := New(Config{
		Network: scenario.Network{Nodes: nodes, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: RTT / 2}}}}, Stacks: level == scenario.Stacks,
	})
	each := func() int64 { return int64(heap()-before) / int64(nodes) }
	for end := time.Duration(0); end < 2*time.Second && err == nil; {
		end += 100 * time.Millisecond
		err = n.Run(end)
		peak = max(peak, each())
	}
	if err == nil {
		err = n.Run(15 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	if ok, why := n.Equal(sim.AllNodes, true); !ok {
		t.Fatal(fmt.Errorf("after 15 s: %s", why))
	}
	rest = each()
	runtime.KeepAlive(n)
	return peak, rest
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
