package gossipsim

import (
	"runtime"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
)

// TestFootprint: a run takes about as much memory as predicted, and not more; 65 536 full nodes
// need less than 6 GB.
func TestFootprint(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector needs memory of its own")
	}
	for _, tt := range []struct {
		nodes   int
		columns string
	}{{1500, "0"}, {effort.Of(8000, 8000, 20_000), "64"}} {
		options := scenario.Values{"columns": tt.columns, "history": "off"}
		m := Measured{Nodes: tt.nodes, Columns: options.Int("columns"), Seed: 1}
		before := heap()
		net, err := New(m.config())
		if err != nil {
			t.Fatal(err)
		}
		if err := net.Run(4 * Interval); err != nil {
			t.Fatal(err)
		}
		used := int64(heap()-before) / int64(tt.nodes)
		predicted := bytesPerNode(scenario.Machines, tt.nodes, options)
		if used > predicted+160 || used < predicted/2 {
			t.Errorf("%d nodes with %s columns take %d bytes each, predicted are %d", tt.nodes, tt.columns, used, predicted)
		}
		runtime.KeepAlive(net)
	}
	const many = 65_536
	if need := many * bytesPerNode(scenario.Machines, many, scenario.Values{"columns": "0", "history": "off"}); need > 6e9 {
		t.Errorf("%d nodes need %d bytes", many, need)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // a second time: what pools and finalizers hold is freed only then
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
