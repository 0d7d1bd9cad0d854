package rmcastsim

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast/engine"
)

// TestBytesPerNode: nodes of a group with four origins take no more memory than bytesPerNode
// estimates, and at least a third of it.
func TestBytesPerNode(t *testing.T) {
	for _, tt := range []struct {
		level                   scenario.Level
		nodes, window, fragment int
	}{
		{scenario.Machines, 300, 4, 64},
		{scenario.Machines, 50, 64, 2048},
		{scenario.Stacks, 50, 64, 2048},
	} {
		before := heap()
		n, err := New(Config{
			Network: scenario.Network{Nodes: tt.nodes, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}}, Stacks: tt.level == scenario.Stacks, Manager: engine.ManagerConfig{Window: tt.window, Fragment: tt.fragment},
		})
		if err == nil {
			err = n.Form()
		}
		for origin := range sim.NodeID(4) {
			if err == nil {
				_, err = n.Send(origin, 100)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		got := int64(heap()-before) / int64(tt.nodes)
		runtime.KeepAlive(n)
		said := bytesPerNode(tt.level, tt.nodes, scenario.Values{"window": strconv.Itoa(tt.window), "fragment": strconv.Itoa(tt.fragment)})
		t.Logf("%v, %d nodes: %d bytes per node, said %d", tt.level, tt.nodes, got, said)
		if got > said || got < said/3 {
			t.Errorf("%v, %d nodes: %d bytes per node, said %d", tt.level, tt.nodes, got, said)
		}
	}
}

// heap returns how many bytes of the heap are in use. The stacks of an earlier test are free only
// after a second collection, because the runtime keeps each sync.Pool for one collection more, and
// with it the portal table that has the pool as a field.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
