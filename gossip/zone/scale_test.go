package zone

import (
	"runtime"
	"testing"
	"time"
)

func heapBytes() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func TestLarge(t *testing.T) {
	const n = 512
	for seed := range uint64(1) {
		before := heapBytes()
		begin := time.Now()
		w := newWorld(t, seed, n, Config{}).share().boot()
		took := w.until(60*time.Second, w.agree)
		t.Log("boot", took, time.Since(begin), "messages", w.messages, "bytes", w.bytes, "peak", float64(heapBytes()-before)/n)
		w.run(20 * time.Second)
		t.Log("settled", time.Since(begin), "heap per node", float64(heapBytes()-before)/n)
		w.messages, w.bytes = [kinds]int{}, [kinds]int{}
		w.run(10 * time.Second)
		t.Log("idle", w.messages, w.bytes)
		hist := map[int]int{}
		for _, n := range w.nodes {
			hist[n.m.links.count(up)]++
		}
		t.Log(hist)
		for _, victims := range []int{1, 16, 200} {
			for _, n := range w.nodes[:victims] {
				n.kill()
			}
			took = w.until(60*time.Second, w.agree)
			t.Log("leave", victims, took, w.wrongly)
			for _, n := range w.nodes[:victims] {
				n.start()
			}
			took = w.until(60*time.Second, w.agree)
			t.Log("join", victims, took, w.wrongly)
			w.run(10 * time.Second)
		}
		t.Log("end", time.Since(begin), float64(heapBytes()-before)/n)
	}
}
