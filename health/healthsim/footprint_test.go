//go:build !race

package healthsim

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestBytesPerNode: a connected node takes at most the memory that bytesPerNode returns, and not
// less than about a third of that.
func TestBytesPerNode(t *testing.T) {
	for _, tt := range []struct {
		level            scenario.Level
		servers, clients int
	}{
		{scenario.Machines, 5, effort.Of(1500, 1500, 5000)},
		{scenario.Machines, 100, 300},
		{scenario.Stacks, 5, 50},
	} {
		before := heap()
		cfg := standard(tt.servers, tt.clients)
		cfg.StartAt = func(id sim.NodeID) time.Duration {
			return time.Duration(int(id)/tt.servers) * 2 * time.Millisecond
		}
		if cfg.stacks = tt.level == scenario.Stacks; cfg.stacks {
			cfg.gossip = 200 * time.Millisecond
		}
		n := ran(t, cfg, time.Minute)
		if holds(t, n, true, "attached"); t.Failed() {
			t.FailNow()
		}
		nodes := tt.servers + tt.clients
		got := int64(heap()-before) / int64(nodes)
		runtime.KeepAlive(n)
		said := bytesPerNode(tt.level, nodes, scenario.Values{"servers": strconv.Itoa(tt.servers), "attach": "all"})
		t.Logf("%v, %d servers, %d clients: %d bytes per node, said %d", tt.level, tt.servers, tt.clients, got, said)
		if got > said || got < said/3 {
			t.Errorf("%v, %d servers, %d clients: %d bytes per node, said %d", tt.level, tt.servers, tt.clients, got, said)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
