package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestFewLeft: when few of many nodes survive, they remove all nodes that are gone, whether the
// hosts of these refuse messages or are silent. That holds although each survivor then suspects
// more members than a credible reporter may (MS-1, MS-26, MS-A1). A single survivor does not
// remove all others, because it cannot know which nodes are gone.
func TestFewLeft(t *testing.T) {
	spec.Covers(t, "MS-1", "MS-26", "MS-A1")
	for _, c := range []struct {
		left, of int
		silent   bool
		within   time.Duration
	}{
		{2, 32, false, 2 * time.Second},
		{2, 32, true, 25 * time.Second},
		{2, 200, false, 2 * time.Second},
		{3, 100, true, 25 * time.Second},
		{8, 200, true, 25 * time.Second},
		{64, 256, true, 20 * time.Second},
	} {
		t.Run(fmt.Sprintf("MS-26 MS-A1 %d of %d silent %v", c.left, c.of, c.silent), func(t *testing.T) {
			if !effort.Long() && c.of > 100 {
				t.Skip("takes seconds: set ULNET_LONG=1")
			}
			w := booted(t, uint64(c.left), c.of, Config{})
			for _, n := range w.nodes[c.left:] {
				if c.silent {
					n.crash()
				} else {
					n.kill()
				}
			}
			w.until(c.within, w.agree)
			if w.wrongly > 0 {
				w.fail("%d removed that live", w.wrongly)
			}
			for _, n := range w.nodes[:c.left] {
				if links := len(n.m.links.list); links > 40 {
					t.Errorf("%d links are left", links)
				}
			}
		})
	}
	t.Run("MS-A1 one of 16", func(t *testing.T) {
		w := booted(t, 1, 16, Config{})
		for _, n := range w.nodes[1:] {
			n.crash()
		}
		w.run(2 * time.Minute)
		if n := w.nodes[0].m.Len(); n == 1 {
			t.Error("one alone believes that all others failed")
		}
	})
}

// TestDeafNodes: nodes that receive nothing but still send request links with one member after the
// other. No other node is removed because of that, and few whole views are sent (MS-2, MS-A1).
func TestDeafNodes(t *testing.T) {
	spec.Covers(t, "MS-2", "MS-A1")
	for deaf := effort.Of(2, 2, 1); deaf <= 2; deaf++ {
		w := booted(t, 1, 96, Config{})
		w.messages = [wire.Kinds]int{}
		w.cut = func(_, to int) bool { return to < deaf }
		w.told = func(n *node, e *Event) {
			if e.Kind == Left && n.i >= deaf && w.byNID[e.ID.Endpoints()[0]].i >= deaf {
				w.fail("%v removes %v", n.id, e.ID)
			}
		}
		w.run(time.Minute)
		if n := w.messages[wire.Base]; n > 60*deaf {
			t.Errorf("%d whole views were sent for %d deaf nodes", n, deaf)
		}
	}
}

// TestOneWay: over a link that works in one direction only, suspicions become rare. Each
// suspicion goes through the whole zone and is refuted, so the node that files them waits
// longer each time (MS-A2).
func TestOneWay(t *testing.T) {
	spec.Covers(t, "MS-A2")
	for _, n := range []int{3, 30} {
		w := booted(t, 1, n, Config{})
		a := w.nodes[0]
		b := w.nodeOf(a, a.m.Neighbours(nil)[0])
		w.cut = func(x, y int) bool { return x == a.i && y == b.i }
		w.run(minutes(n, 5) * time.Minute)
		filed, withheld := a.m.stats.Filed+b.m.stats.Filed, a.m.stats.Withheld
		if filed == 0 || filed > 32 || n == 3 && withheld == 0 {
			t.Errorf("%d suspicions in ten minutes, %d withheld", filed, withheld)
		}
		if !w.agree() || w.wrongly > 0 {
			w.fail("%d removed that live", w.wrongly)
		}
	}
	s := acquainted(t, 6, Config{Threshold: 3, Successors: 3})
	for filed := uint64(1); filed < 4; filed++ { // node 2 refutes each report of it: the back-off doubles
		s.suspicion(0, 2, v(7, uint32(2+filed)))
		s.alive(2, v(7, uint32(3+filed)))
		if s.m.stats.Filed != filed || !s.m.filings.early(s.m.now, s.ref[2], 7) || s.m.filings.early(s.m.now, s.ref[2], 8) {
			t.Errorf("filed %d: %+v", s.m.stats.Filed, s.m.filings)
		}
		if f := s.m.filings[s.ref[2]]; f.backoff != s.m.cfg.Heartbeat<<(filed-1) || f.until != s.m.now+f.backoff {
			t.Errorf("after %d: %+v, now %v", filed, f, s.m.now)
		}
	}
}
