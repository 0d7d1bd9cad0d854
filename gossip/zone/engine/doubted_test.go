package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// asks lets time pass, and returns how many notices this node sends to node 2 in that time, each
// about a version ⟨7, minor⟩ of that node.
func (s *solo) asks(d time.Duration, minor uint32) (n int) {
	s.t.Helper()
	for _, to := range s.pass(d) {
		if to.To != s.ref[2] || to.Message.Kind != wire.Notice {
			continue
		}
		want := []wire.Suspicion{{Reporter: s.ref[0], Suspect: s.ref[2], Version: v(7, minor)}}
		if got := to.Message.Lists.Silences; !slices.Equal(got, want) {
			s.t.Errorf("a notice says %+v, want %+v", got, want)
		}
		n++
	}
	return n
}

// TestDoubtedAsked: enough nodes report node 2 as silent. This node has not reported it, and has
// no link to it. Before this node removes node 2, it asks node 2 itself: once after each of two
// rounds, and no more once node 2 has refuted the reports (MS-A1, G-MS-10).
func TestDoubtedAsked(t *testing.T) {
	spec.Covers(t, "MS-A1", "G-MS-10")
	const round = 200 * time.Millisecond
	doubting := func(t *testing.T) *solo {
		s := newSolo(t, 9, Config{})
		for i := 1; i < 9; i++ {
			s.alive(i, v(7, 1))
		}
		s.silence(2, 3, 4)
		return s
	}
	t.Run("silent", func(t *testing.T) {
		s := doubting(t)
		if n := s.asks(round-5*time.Millisecond, 1); n != 0 {
			t.Errorf("%d notices in the first round, in which the refutation usually comes by itself", n)
		}
		if n := s.asks(2*round, 1); n != 2 {
			t.Errorf("%d notices, want 2", n)
		}
		s.is(2, inView, v(7, 1))
		if n := s.asks(3*time.Second, 1); n != 0 {
			t.Errorf("%d notices to a node that was removed", n)
		}
		s.is(2, inHistory, v(7, 1))
	})
	t.Run("refuted early", func(t *testing.T) {
		s := doubting(t)
		s.alive(2, v(7, 2))
		if n := s.asks(3*time.Second, 2); n != 0 {
			t.Errorf("%d notices after the refutation", n)
		}
	})
	t.Run("suspected again at once", func(t *testing.T) {
		s := doubting(t)
		var l wire.Lists
		for _, by := range []int{5, 6} {
			l.Silences = append(l.Silences, wire.Suspicion{Reporter: s.ref[by], Suspect: s.ref[2], Version: v(7, 2)})
		}
		s.alive(2, v(7, 2))
		s.update(l)
		if n := s.asks(3*round-5*time.Millisecond, 2); n != 2 {
			t.Errorf("%d notices about the newer version, want 2", n)
		}
		s.hear(2, v(7, 3), wire.Message{Kind: wire.Notice, Lists: &wire.Lists{Alive: []wire.Member{{Node: s.ref[2], Version: v(7, 3)}}}})
		s.pass(3 * time.Second)
		s.is(2, inView, v(7, 3))
	})
}

// TestHeardByOne: only one other node receives what the node in the variable mute sends, and the
// two have no link. All others report that node as silent, and do not receive its refutation. The
// node that receives its messages does not remove it (MS-2, G-MS-10).
func TestHeardByOne(t *testing.T) {
	spec.Covers(t, "MS-2", "G-MS-10")
	for seed := range effort.Seeds[uint64](2, 2, 40) {
		w := booted(t, seed, 24, Config{})
		mute := w.nodes[0]
		linked := make(map[*node]bool)
		for _, l := range mute.m.Links() {
			linked[w.byNID[l.ID.Endpoints()[0]]] = true
		}
		var hears *node
		for _, n := range w.nodes[1:] {
			if !linked[n] {
				hears = n
			}
		}
		if hears == nil {
			t.Fatalf("seed %d: the node has links to all others", seed)
		}
		w.told = func(n *node, e *Event) {
			if e.Kind == Left && n == hears && e.ID == mute.id {
				w.fail("seed %d: the node that hears it removes it, %v", seed, e.Cause)
			}
		}
		w.cut = func(from, to int) bool { return from == mute.i && to != hears.i }
		w.run(8 * time.Second)
		w.cut = nil
		w.run(20 * time.Second)
		if !w.agree() {
			t.Errorf("seed %d: the views differ", seed)
		}
	}
}
