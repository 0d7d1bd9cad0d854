package flood_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
)

// TestMemory: the memory of a run in which all nodes send at once is near the estimate: at most a third
// above it, and at least half of it.
func TestMemory(t *testing.T) {
	nodes := effort.Of(15_000, 50_000, 50_000)
	for _, fanout := range []int{1, 3, 20} {
		f, err := scenario.Parse("test", fmt.Appendf(nil, "protocol flood\nnodes %d\nrun 1s\nset fanout %d\n", nodes, fanout), []*scenario.Protocol{flood.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		c, err := flood.Protocol.New(&scenario.Setup{Network: scenario.Network{Nodes: nodes}, Level: scenario.Machines, Options: f.Options})
		if err != nil {
			t.Fatal(err)
		}
		c.At(0, func() {
			for id := range sim.NodeID(nodes) {
				c.Command(id, "tell 1")
			}
		})
		if err := c.Run(time.Second); err != nil {
			t.Fatal(err)
		}
		took, want := heap()-before, f.Memory(scenario.Machines, nodes)
		if s := c.Stats(); s.Delivered != uint64(nodes*fanout) {
			t.Errorf("%+v", s)
		}
		runtime.KeepAlive(c)
		t.Logf("fanout %d: %d bytes, predicted %d", fanout, took, want)
		if want -= 16 << 20; want < took*3/4 || want > took*2 { // the estimate includes 16 MB for what a small run needs besides its nodes
			t.Errorf("fanout %d: %d bytes, predicted %d", fanout, took, want)
		}
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees what pools and finalizers of earlier tests held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
