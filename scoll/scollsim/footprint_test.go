package scollsim

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestBytesPerNode: after some broadcasts, nodes take no more memory than bytesPerNode returns,
// and at least a third of that.
func TestBytesPerNode(t *testing.T) {
	for _, tt := range []struct {
		level     scenario.Level
		nodes     int
		kind      string
		discovery time.Duration
	}{
		{scenario.Machines, 4000, kindOOB, 0},
		{scenario.Machines, 600, kindOOB, time.Second},
		{scenario.Stacks, 100, kindImmediate, time.Second},
	} {
		before := heap()
		n, err := New(Config{
			Network: scenario.Network{Nodes: tt.nodes, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}}, Stacks: tt.level == scenario.Stacks, Discovery: tt.discovery,
		})
		if err == nil {
			err = n.Group(tt.kind)
		}
		for root := range sim.NodeID(3) {
			if err == nil {
				_, err = n.Broadcast(root, "all 100ms")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		got := int64(heap()-before) / int64(tt.nodes)
		runtime.KeepAlive(n)
		said := bytesPerNode(tt.level, tt.nodes, scenario.Values{"discovery": tt.discovery.String()})
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

// TestLargeRegularGroup: a run ends with an error if the lists of a group do not fit the
// memory.
func TestLargeRegularGroup(t *testing.T) {
	n, err := New(Config{Network: scenario.Network{Nodes: maxRegular + 1}, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Group(kindImmediate); err == nil || !strings.Contains(err.Error(), "want 4096 at most") {
		t.Errorf("got %v", err)
	}
}
