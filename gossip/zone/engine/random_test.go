package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// eachSeed tries random plans, as many as the level of effort asks for. It splits them into
// parts that run in parallel, so that a long run uses all cores.
func eachSeed(t *testing.T, few, some, all uint64, try func(t *testing.T, seed uint64)) {
	const parts = 4
	count := effort.Seeds(few, some, all)
	for part := range uint64(parts) {
		t.Run(fmt.Sprintf("part %d", part+1), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < count; seed += parts {
				try(t, seed)
			}
		})
	}
}

// TestRandomFaults: after any faults, some time after they end, all views of a zone are equal,
// and so are the attributes (MS-1, MS-2, MS-71). The invariants hold after each step (MS-8,
// MS-13, MS-A10, MS-56, MS-73, MS-88).
func TestRandomFaults(t *testing.T) {
	spec.Covers(t, "MS-1", "MS-2", "MS-8", "MS-13", "MS-56", "MS-71", "MS-73", "MS-88", "MS-A10")
	eachSeed(t, 25, 30, 10_000, func(t *testing.T, seed uint64) {
		n := []int{2, 3, 5, 12, 24}[seed%5]
		w := newWorld(t, seed, n, Config{Threshold: 1 + int(seed%3), Successors: 3})
		w.jitter, w.loss, w.dup, w.reorder = 3*time.Millisecond, 0.05, 0.05, 0.05
		w.record, w.disk = 300, time.Duration(seed%2)*time.Second
		w.boot()
		w.run(5 * time.Second)
		for range 12 {
			w.trouble()
			w.run(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
		}
		w.calm()
		w.until(90*time.Second, func() bool { return w.agree() && w.sameAttributes() })
		w.run(5 * time.Second)
		if !w.agree() || !w.sameAttributes() {
			w.fail("seed %d: not so any more", seed)
		}
	})
}

// trouble injects a random fault into a node.
func (w *world) trouble() {
	x := w.nodes[w.rng.IntN(len(w.nodes))]
	switch k := w.rng.IntN(14); {
	case k > 6:
		w.moreTrouble(x, k)
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

// calm ends all faults.
func (w *world) calm() {
	w.log("calm")
	w.cut, w.loss, w.dup, w.reorder = nil, 0, 0, 0
	for _, n := range w.nodes {
		n.slow = 0
		if n.up && n.paused {
			n.resume()
		}
		if !n.up {
			n.start()
		}
	}
}

// TestMildFaults: the network loses few messages, and nodes fail, restart, leave and are paused
// for less than the timeout. No live node is removed.
func TestMildFaults(t *testing.T) {
	eachSeed(t, 3, 5, 1000, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, 32, Config{})
		w.jitter, w.loss, w.dup, w.reorder = 2*time.Millisecond, 0.005, 0.01, 0.02
		w.boot()
		w.run(5 * time.Second)
		for range 12 {
			x := w.nodes[w.rng.IntN(len(w.nodes))]
			switch k := w.rng.IntN(4); {
			case !x.up:
				x.start()
			case x.paused:
			case k == 0:
				x.kill()
			case k == 1:
				x.crash()
			case k == 2:
				x.step(Input{Kind: Leave})
				x.kill()
			default:
				x.pause()
				w.after(time.Duration(w.rng.Int64N(int64(2*time.Second))), x.resume)
			}
			w.run(time.Duration(w.rng.Int64N(int64(4 * time.Second))))
		}
		w.reachable()
		w.run(20 * time.Second)
		if w.wrongly > 0 || !w.agree() {
			w.fail("seed %d: %d removed that live", seed, w.wrongly)
		}
	})
}

// reachable gives a bootstrap to each running node that has none. Bootstraps are nodes that are
// likely to run; a node with three has one left after two deaths (docs/membership.md).
func (w *world) reachable() {
	for i := 0; i < len(w.nodes); i++ {
		n := w.nodes[i]
		up := slices.ContainsFunc(n.boot, func(id wire.ID) bool { return w.node(id).up })
		if n.up && !up {
			w.node(n.boot[0]).start()
			i = -1 // begin again, because the started node needs a bootstrap node, too
		}
	}
}

func (w *world) node(id wire.ID) *node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == id })]
}

// TestDeterministic: the same seed gives the same run.
func TestDeterministic(t *testing.T) {
	run := func() []string {
		w := newWorld(t, 5, 20, Config{})
		w.jitter, w.loss, w.dup, w.reorder = 3*time.Millisecond, 0.05, 0.05, 0.05
		w.boot()
		for range 10 {
			w.trouble()
			w.run(3 * time.Second)
		}
		w.log("%v %v", w.messages, w.bytes)
		return w.trace
	}
	a, b := run(), run()
	if len(a) < 100 || !slices.Equal(a, b) {
		t.Errorf("%d and %d lines", len(a), len(b))
	}
}

// TestHierarchyFaults: whatever faults occur in a system, its census is right some time after
// they end (MS-100).
func TestHierarchyFaults(t *testing.T) {
	spec.Covers(t, "MS-100")
	eachSeed(t, 4, 6, 1000, func(t *testing.T, seed uint64) {
		s := newSystem(t, seed, 2, 5, 4)
		s.jitter, s.loss, s.reorder = 2*time.Millisecond, 0.02, 0.02
		for range 12 {
			s.run(time.Duration(s.rng.Int64N(int64(8 * time.Second))))
			s.trouble()
		}
		s.calm()
		s.run(avoidance) // so long that the delegates agree on a supervisor again
		for end := s.now + time.Minute; !s.right(); s.run(100 * time.Millisecond) {
			if s.now > end {
				s.wrong("seed %d: not right", seed)
			}
		}
		s.run(5 * time.Second)
		if !s.right() {
			s.wrong("seed %d: not right any more", seed)
		}
	})
}
