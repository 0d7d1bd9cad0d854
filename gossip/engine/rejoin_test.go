package engine

import (
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestCommitWhilePaused: a node commits a change of the list in resync, while it reports no
// change of health. It still counts the live participants of the new list, and keeps its quorum
// (GO-77, GO-A8, GO-A21).
func TestCommitWhilePaused(t *testing.T) {
	spec.Covers(t, "GO-77", "GO-A8", "GO-A21")
	h := newHarness(t, 8, 2, nil)
	h.meet(12)
	h.stage(newListOf(t, 2, 10)) // participants 0 and 1 leave, two nodes join
	h.now += 100 * interval
	h.step(Input{Kind: Commit})
	if !h.m.pause.resync || h.m.AliveCount() != 6 || !h.m.Quorum() {
		t.Errorf("resync %v, %d alive, want 6, quorum %v", h.m.pause.resync, h.m.AliveCount(), h.m.Quorum())
	}
}

// TestLeaveAndJoin: for users that compare a participant's aliveness, leaving the list and
// joining it again counts as one death (GO-74, GO-A21).
func TestLeaveAndJoin(t *testing.T) {
	spec.Covers(t, "GO-74", "GO-A21")
	h := newHarness(t, 8, 2, nil)
	h.meet(12)
	whole, less := h.list, newListOf(t, 0, 7)
	change := func(to *List) {
		h.stage(to)
		h.step(Input{Kind: Commit})
		for range h.m.Limits().Dead + 2 { // go on until the change of the list has ended
			h.cycles(1)
			for i := range to.Len() {
				if i != 2 {
					h.hear(to, to.NID(i), h.in(to, true))
				}
			}
		}
		if s := h.m.RollStatus(); s.Committed || s.N != to.Len() {
			t.Fatalf("the change does not end: %+v", s)
		}
	}
	id := whole.NID(7)
	if p := h.m.Participant(7); p.NID != id || p.Health != Alive || p.Aliveness != 0 {
		t.Fatalf("before: %+v", p)
	}
	change(less)
	change(whole)
	if p := h.m.Participant(7); p.NID != id || p.Health != Alive || p.Aliveness != 1 {
		t.Errorf("after: %+v, want one death", p)
	}
}

// TestStartedWithNextList: a node starts with the new list while the others, including those
// that leave, have only staged that list. The node waits for the others. A node with a list
// that no other node has staged stops, in both modes (GO-A5, GO-A21).
func TestStartedWithNextList(t *testing.T) {
	spec.Covers(t, "GO-A5", "GO-A21")
	old, next := newListOf(t, 0, 8), newListOf(t, 2, 10)
	for _, strict := range []bool{false, true} {
		for _, staged := range []*List{next, newListOf(t, 2, 11)} {
			h := newHarness(t, 8, 0, func(c *Config) { c.Strict = strict })
			var err error
			if h.m, err = New(h.m.cfg, next, 3); err != nil {
				t.Fatal(err)
			}
			h.list = next
			h.cycles(1)
			header := h.in(old, true)
			header.Flags, header.Staged = header.Flags|wire.FlagStaged, staged.Digest()
			before := h.m.Clock()
			for _, from := range []int{0, 1, 2, 3} { // participants 0 and 1 leave, 2 and 3 stay
				h.hear(old, old.NID(from), header)
				if len(h.sends) != 0 && staged == next {
					t.Errorf("strict %v: answered what it does not understand", strict)
				}
			}
			if stops := staged != next; h.m.Stopped() != stops || !stops && h.m.Clock() != before {
				t.Errorf("strict %v: stopped %v, want %v; clock %d", strict, h.m.Stopped(), stops, h.m.Clock())
			}
			if staged == next && h.m.Stats().Disagreements+h.m.Stats().Strangers != 4 {
				t.Errorf("strict %v: counters %+v", strict, h.m.Stats())
			}
		}
	}
}
