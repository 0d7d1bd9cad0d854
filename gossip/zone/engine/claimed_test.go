package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestClaimedThenGone: the clocks of all nodes are equal. A liar names versions of a member that are too far ahead
// of these clocks, some so far that the member itself refuses to take a higher one. Then the member leaves in
// order, or crashes, and the liar goes on. The others remove the member as soon as without the liar (MS-A2, MS-A3).
func TestClaimedThenGone(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A3")
	const wall, limit = 1 << 60, 1 << 44
	for _, above := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 6 * time.Second, 8 * time.Second} {
		for _, orderly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v above, orderly %v", above, orderly), func(t *testing.T) {
				w := newWorld(t, 4, 24, Config{})
				begin := w.now
				for _, n := range w.nodes {
					n.change = func(c *Config) { c.Wall, c.Ahead = wall, limit }
				}
				w.boot()
				w.until(10*time.Second, w.agree)
				w.run(10 * time.Second)
				victim, liar := w.nodes[4], w.nodes[1]
				name := func() {
					far := v(wall+limit+uint64(w.now-begin+above), 1)
					for _, n := range w.nodes {
						if n.up && n != liar {
							w.claim(liar, n, wire.Message{Kind: wire.Update, Lists: &wire.Lists{Alive: []wire.Member{{Node: n.ref(victim), Version: far}}}})
						}
					}
				}
				name()
				w.run(500 * time.Millisecond)
				back, dead := 0, 0
				w.told = func(n *node, e *Event) {
					if e.Kind == Joined && e.ID == victim.id {
						back++
					}
					if e.Kind == Left && e.ID == victim.id && e.Cause != Said {
						dead++
					}
				}
				if orderly {
					victim.step(Input{Kind: Leave})
				}
				victim.kill()
				for range 5 {
					w.run(time.Second)
					name()
				}
				if left := w.members(victim.id) - 1; left > 0 || back > 0 || orderly && dead > 0 { // the victim itself does not count
					t.Errorf("%d nodes take it for a member, %d times it joined again, %d nodes take it for dead", left, back, dead)
				}
			})
		}
	}
}
