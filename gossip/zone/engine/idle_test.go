package engine

import (
	"testing"
	"time"
)

// BenchmarkIdleMachine measures the cost of the machine of a node in a zone of 2048 nodes at
// rest. An operation is a second of all nodes; core-% is the share of a core that one node
// takes. The goal is 0.2 with all layers below, which BenchmarkIdleAgents measures.
func BenchmarkIdleMachine(b *testing.B) {
	const n = 2048
	w := newWorld(b, 1, n, Config{}).share()
	w.strict = false
	w.boot()
	w.until(10*time.Second, w.agree)
	w.run(40 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		w.run(time.Second)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/n*100, "core-%")
}
