package engine

import (
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

func heapBytes() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC() // a second time: what pools and finalizers hold is freed only then
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestLarge: a zone (of two thousand nodes in a long run) starts, loses members and regains
// them as fast as the zone measured in the design (MS-4, MS-104, MS-105), in little memory. The
// design measured 5.7 s for this boot with two processes on each machine; with one process the
// figure is about 4.0 s (MS-A27).
func TestLarge(t *testing.T) {
	spec.Covers(t, "MS-4", "MS-104", "MS-105", "MS-A27", "G-MS-1", "G-MS-2")
	n, victims := effort.Of(256, 256, 2048), effort.Of([]int{1, 16}, []int{1, 16}, []int{1, 16, 200})
	before := heapBytes()
	w := newWorld(t, 1, n, Config{}).share()
	w.strict = false
	w.boot()
	if took := w.until(10*time.Second, w.agree); took > 1200*time.Millisecond { // the bound of goal G-MS-1, the time to start a zone
		t.Errorf("boot took %v", took)
	}
	peak := heapBytes() - before
	w.run(20 * time.Second)
	rest := heapBytes() - before
	t.Logf("%d bytes per node after boot, %d at rest", peak/int64(n), rest/int64(n))
	if per := rest / int64(n); per > 12<<10 {
		t.Errorf("%d bytes per node at rest", per)
	}
	entries := int64(n) * int64(n)
	if per := float64(peak) / float64(entries); n == 2048 && per > 32 {
		t.Errorf("%.1f bytes per entry after boot", per)
	}
	const tau, detection = 200 * time.Millisecond, 2 * time.Millisecond
	for _, k := range victims {
		mean, last := w.killFirst(k)
		t.Logf("%d of %d leave: mean %v, last %v", k, n, mean, last)
		if mean > 600*time.Millisecond || last > detection+5*tau+10*time.Millisecond { // the bounds of goal G-MS-2, the time to detect deaths
			t.Errorf("%d of %d leave: mean %v, last %v", k, n, mean, last)
		}
		for _, x := range w.nodes[:k] {
			x.start()
		}
		if join := w.until(10*time.Second, w.agree); join > last+tau+10*time.Millisecond {
			t.Errorf("%d of %d join in %v, leave in %v", k, n, join, last)
		}
		w.run(10 * time.Second)
	}
	if w.wrongly > 0 {
		t.Errorf("%d removed that live", w.wrongly)
	}
}

// killFirst kills the first k nodes. It returns how long it takes until a surviving node
// removes a killed one: the mean over all pairs of these, and the longest.
func (w *world) killFirst(k int) (mean, last time.Duration) {
	w.t.Helper()
	begin, sum, pairs := w.now, time.Duration(0), 0
	w.told = func(n *node, e *Event) {
		if e.Kind == Left && n.up && w.byNID[e.ID.Endpoints()[0]].i < k {
			last = w.now - begin
			sum += last
			pairs++
		}
	}
	for _, n := range w.nodes[:k] {
		n.kill()
	}
	w.until(20*time.Second, w.agree)
	w.told = nil
	if pairs != k*(len(w.nodes)-k) {
		w.t.Errorf("%d of %d were told", pairs, k*(len(w.nodes)-k))
	}
	return sum / time.Duration(max(pairs, 1)), last
}

// TestMonitorDelay: the time until a monitor is notified does not depend on the size of the
// zone (MS-106, MS-107, G-MS-3).
func TestMonitorDelay(t *testing.T) {
	spec.Covers(t, "MS-106", "MS-107", "G-MS-3")
	sizes := []int{32, 512}
	if !effort.Long() {
		sizes = []int{32, 128}
	}
	var took [2]time.Duration
	for i, n := range sizes {
		w := newWorld(t, 1, n, Config{}).share()
		w.strict = false
		w.boot()
		w.until(10*time.Second, w.agree)
		monitor := w.nodes[5]
		monitor.step(Input{Kind: Set, Key: MonitorKey})
		w.run(4 * time.Second)
		begin := w.now
		w.told = func(n *node, e *Event) {
			if n == monitor && e.Kind == Left && took[i] == 0 {
				took[i] = w.now - begin
			}
		}
		w.nodes[9].kill()
		w.run(time.Second)
	}
	if took[0] == 0 || took[0] != took[1] || took[0] > 3*time.Millisecond {
		t.Errorf("the monitor knows after %v", took)
	}
}
