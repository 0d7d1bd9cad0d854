package healthsim

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestExamplesOnStacks: G-CH-3, CH-33, CH-66: the embedded scenarios hold for whole
// stacks with gossip, collectives and stores, too.
func TestExamplesOnStacks(t *testing.T) {
	paths, err := filepath.Glob("../../cmd/lnetd/internal/simcmd/examples/health-*.sim")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sim")
		switch {
		case name == "health-two": // one host cannot pretend to be another
			continue
		case testing.Short() && name != "health-partition" && name != "health-pause-client" && name != "health-restart":
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := scenario.Parse(name, text, []*scenario.Protocol{Protocol})
			if err != nil {
				t.Fatal(err)
			}
			res, err := scenario.Run(t.Context(), f, scenario.Options{Level: scenario.Stacks, SampleEvery: -1})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range res.Expects {
				if !o.OK {
					t.Errorf("line %d: %s: failed at %v: %s", o.Line, o.Text, o.At, o.Why)
				}
			}
		})
	}
}

// TestBytesPerNode: nodes that are connected take no more than bytesPerNode says,
// and not much less than a third of it.
func TestBytesPerNode(t *testing.T) {
	for _, tt := range []struct {
		level            scenario.Level
		servers, clients int
	}{
		{scenario.Machines, 5, 5000},
		{scenario.Machines, 100, 300},
		{scenario.Stacks, 5, 50},
	} {
		before := heap()
		n, err := New(Config{
			Servers: tt.servers, Clients: tt.clients, Stacks: tt.level == scenario.Stacks, Topology: Flat(),
			StartAt: func(id sim.NodeID) time.Duration { return time.Duration(int(id)/tt.servers) * 2 * time.Millisecond },
		})
		if err == nil {
			err = n.Run(time.Minute)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := n.Attached(sim.AllNodes, sim.AllNodes); !ok {
			t.Fatal(why)
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
