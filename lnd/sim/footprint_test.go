package sim

import (
	"runtime"
	"testing"
	"time"
)

// idle is a program that only wants a timer, once in an hour. All nodes share one value, because the
// memory of programs does not count as the simulator's.
type idle struct{}

func (*idle) Step(now time.Duration, _ Input[rumour], _ *Output[rumour]) time.Duration {
	return now + time.Hour + now%time.Minute
}

func allocated() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFootprintIdle(t *testing.T) {
	const nodes = 1_000_000
	before := allocated()
	one := &idle{}
	n, err := New(Config[rumour]{
		Nodes: nodes, Boot: func(Incarnation, Program[rumour]) Program[rumour] { return one },
		StartAt: func(id NodeID) time.Duration { return time.Duration(id) * time.Microsecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	if s := n.Stats(); s.Steps != nodes || s.Queued != nodes {
		t.Fatalf("%d steps, %d timers, want %d", s.Steps, s.Queued, nodes)
	}
	used := allocated() - before
	t.Logf("%.1f bytes per node", float64(used)/nodes)
	if used > 200*nodes {
		t.Errorf("%d bytes per idle node, want at most 200", used/nodes)
	}
	compareFootprint(t, Footprint[rumour](nodes, 0), used)
	runtime.KeepAlive(n)
}

func TestFootprintMessages(t *testing.T) {
	const nodes, each = 10_000, 40
	before := allocated()
	n, err := New(Config[rumour]{
		Nodes: nodes, Topology: flat("latency 1s±0.1s"),
		Boot: func(l Incarnation, _ Program[rumour]) Program[rumour] {
			return script[rumour](func(now time.Duration, in Input[rumour], out *Output[rumour]) time.Duration {
				for range each {
					out.Sends = append(out.Sends, Send[rumour]{To: l.Node, Size: 64})
				}
				return now + time.Minute
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(time.Second / 2); err != nil {
		t.Fatal(err)
	}
	compareFootprint(t, Footprint[rumour](nodes, nodes*each), allocated()-before)
	runtime.KeepAlive(n)
}

func compareFootprint(t *testing.T, predicted, used int64) {
	t.Helper()
	if ratio := float64(predicted) / float64(used); ratio < 0.75 || ratio > 1.25 {
		t.Errorf("predicted %d bytes, used %d: %.2f of it", predicted, used, ratio)
	}
}

// TestMillionNodesStart: a million nodes start within a minute. Half a second of CPU time is usual; the
// test only shows that no cost grows with the square of the number of nodes.
func TestMillionNodesStart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a million nodes")
	}
	begin := time.Now()
	n, err := New(Config[rumour]{Nodes: 1_000_000, Boot: func(Incarnation, Program[rumour]) Program[rumour] { return &idle{} }})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("a million nodes took %v to start", took)
	}
}
