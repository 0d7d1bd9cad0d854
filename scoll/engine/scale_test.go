package engine

import (
	"math"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// TestScale: SC-2, G-SC-5: the time of a broadcast with its answers grows with the logarithm of
// the number of nodes, for a fixed K: the fit has R² above 0.99. A node takes at most 32 KiB of memory,
// so that 65 536 nodes fit in 2 GiB.
func TestScale(t *testing.T) {
	spec.Covers(t, "SC-2", "G-SC-5")
	sizes := []int{16, 64, 256, 1024}
	if effort.Long() {
		sizes = append(sizes, 4096, 16384, 65536)
	}
	var x, y []float64
	before := heap()
	for _, n := range sizes {
		c := newCluster(t, n, func(c *cluster, cfg *sim.Config[*packet]) {
			cfg.CPU = sim.CPU{PerStep: 50 * time.Microsecond}
			c.cfg = Config{RTT: 20 * time.Millisecond}
			c.unchecked = n > 1000
		})
		c.run(time.Millisecond)
		begin := time.Now()
		r := c.broadcast(0, wire.GroupID{Index: 1}, Outgoing{Flags: wire.FlagOOB, Members: c.members, Tree: wire.Tree{Type: wire.KNomial, K: 4}})
		if len(r.missing) != 0 || len(r.answered) != n-1 {
			t.Fatalf("%d of %d nodes answered", len(r.answered), n)
		}
		took, memory := time.Since(begin), heap()-before
		t.Logf("%6d nodes: %v, simulated in %v, %d bytes a node", n, r.at, took, memory/int64(n))
		if n >= 1024 && memory/int64(n) > 2<<30/65536 {
			t.Errorf("%d nodes take %d bytes each", n, memory/int64(n))
		}
		runtime.KeepAlive(c)
		x, y = append(x, math.Log2(float64(n))), append(y, float64(r.at))
	}
	if r2 := fit(x, y); r2 < 0.99 {
		t.Errorf("R² is %.4f", r2)
	}
}

// heap returns the bytes of memory in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // a second time: what pools and finalizers hold is freed only then
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// fit returns the coefficient of determination of a straight line through points.
func fit(x, y []float64) float64 {
	var sx, sy, sxx, sxy, syy float64
	n := float64(len(x))
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, sxy, syy = sxx+x[i]*x[i], sxy+x[i]*y[i], syy+y[i]*y[i]
	}
	r := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	return r * r
}
