package zone

import (
	"testing"
	"time"
)

// TestRandomFaults: whatever happens to a zone, its views are equal some time after
// it ends (MS-1, MS-2), and the invariants hold in each step.
func TestRandomFaults(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 45
	}
	for seed := range seeds {
		n := []int{2, 3, 5, 12, 24}[seed%5]
		w := newWorld(t, seed, n, Config{Threshold: 1 + int(seed%3), Successors: 3})
		w.jitter, w.loss, w.dup, w.reorder = 3*time.Millisecond, 0.05, 0.05, 0.05
		w.boot()
		w.run(5 * time.Second)
		for range 12 {
			w.trouble()
			w.run(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
		}
		w.calm()
		w.until(time.Minute, w.agree)
	}
}

// trouble does something to somebody.
func (w *world) trouble() {
	x := w.nodes[w.rng.IntN(len(w.nodes))]
	switch k := w.rng.IntN(7); {
	case !x.up:
		x.start()
	case k == 0:
		x.kill()
	case k == 1:
		x.crash()
	case k == 2 && !x.paused:
		x.pause()
		w.after(time.Duration(w.rng.Int64N(int64(12*time.Second))), func() {
			if x.paused {
				x.resume()
			}
		})
	case k == 3:
		x.step(Input{Kind: Leave, Code: 7})
		x.kill()
	case k == 4:
		split := w.rng.IntN(len(w.nodes))
		w.log("partition at %d", split)
		w.cut = func(a, b int) bool { return (a < split) != (b < split) }
	case k == 5:
		from := x.i
		w.log("%d is not heard any more", from)
		w.cut = func(a, _ int) bool { return a == from }
	case k == 6:
		w.log("heal")
		w.cut = nil
	}
}

// calm ends all trouble.
func (w *world) calm() {
	w.log("calm")
	w.cut, w.loss, w.dup, w.reorder = nil, 0, 0, 0
	for _, n := range w.nodes {
		if n.up && n.paused {
			n.resume()
		}
		if !n.up {
			n.start()
		}
	}
}
