package scollsim_test

import (
	"math"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
)

// latency is the latency of links in tests that count messages by time.
const latency = time.Millisecond

func flat() *sim.Flat { return &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}} }

// TestLogarithm: SC-2: messages on the critical path and the time to the result
// grow with the logarithm of the number of nodes, for a fixed K. Where sends
// take no time, each message on the path is one latency.
func TestLogarithm(t *testing.T) {
	spec.Covers(t, "SC-2")
	last := effort.Of(10, 10, 16)
	for _, tt := range []struct {
		tree     scoll.Tree
		step     int
		overhead time.Duration
	}{
		{scoll.Tree{Type: scoll.KNomial, K: 2}, 1, 0},
		{scoll.Tree{Type: scoll.KNomial, K: 2}, 1, 200 * time.Microsecond},
		{scoll.Tree{Type: scoll.KNomial, K: 4}, 2, 200 * time.Microsecond},
		{scoll.Tree{Type: scoll.KAry, K: 2}, 1, 200 * time.Microsecond},
	} {
		var x, y []float64
		for log := 3; log <= last; log += tt.step {
			_, b, err := scollsim.Measured(scollsim.Config{
				Network: scenario.Network{Nodes: 1 << log, Topology: flat()}, Tree: tt.tree, Overhead: tt.overhead, Bare: true,
				Scoll: scoll.Config{RTT: time.Second},
			}, "oob", "")
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Answered) != 1<<log-1 {
				t.Fatalf("%v, %d nodes: %d answered", tt.tree, 1<<log, len(b.Answered))
			}
			x, y = append(x, float64(log)), append(y, float64(b.Elapsed())/float64(latency))
			if want := float64(2 * log); tt.overhead == 0 && y[len(y)-1] != want {
				t.Errorf("%v, %d nodes: %.1f messages on the critical path, want %.0f", tt.tree, 1<<log, y[len(y)-1], want)
			}
		}
		if r2 := fit(x, y); r2 < 0.99 {
			t.Errorf("%v, overhead %v: R² is %.4f of %.4g", tt.tree, tt.overhead, r2, y)
		}
	}
}

// fit is the coefficient of determination of a straight line through points.
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
