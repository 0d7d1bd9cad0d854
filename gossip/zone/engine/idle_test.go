package engine

import (
	"testing"
	"time"
)

// BenchmarkIdleMachine is what the machine of a node in a zone of 2048 at rest costs. An
// operation is a second of all nodes; core-% is the part of a core that one of them takes,
// which may be 0.2 with all that is below it: BenchmarkIdleAgents measures that.
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
