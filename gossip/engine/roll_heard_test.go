package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestRollDoubles: the new list has as many joiners as the old one has participants. Those that have sent messages in the
// new list are alive as soon as this node commits, so that it does not lose the quorum in between (GO-A21).
func TestRollDoubles(t *testing.T) {
	spec.Covers(t, "GO-A21")
	for _, silent := range []int{0, 2} { // the cycles since the joiners were heard
		h := newHarness(t, 4, 2, nil)
		h.meet(12)
		next := newListOf(t, 0, 8)
		h.stage(next)
		for i := 4; i < 8; i++ {
			h.hear(next, next.NID(i), h.in(next, true))
		}
		h.meet(silent)
		h.step(Input{Kind: Commit})
		for _, e := range h.out.Events {
			if e.Kind == QuorumLost {
				t.Errorf("after %d cycles: the quorum is lost with %d alive", silent, e.Alive)
			}
		}
		if age := h.m.ages.bytes[5]; int(age) != silent {
			t.Errorf("after %d cycles: a joiner has the age %d", silent, age)
		}
		if n := h.m.AliveCount(); n != 8 {
			t.Errorf("after %d cycles: %d of 8 are alive", silent, n)
		}
	}
}

// TestRollHeardBefore: when a node commits, joiners that it has heard have the age since then, with the cycles that it has
// missed. Those that it heard too long ago to be alive, or before a long pause, are unheard: others may have heard
// them later (GO-A21).
func TestRollHeardBefore(t *testing.T) {
	spec.Covers(t, "GO-A21")
	limits, _ := Config{Interval: interval}.Limits(8)
	for _, tt := range []struct{ silent, missed, age int }{
		{silent: limits.Again, age: limits.Again},
		{silent: limits.Again + 1, age: unheard},
		{missed: 3, age: 4},
		{missed: (limits.Dead + 1) / 2, age: unheard},
	} {
		h := newHarness(t, 4, 2, nil)
		h.meet(12)
		next := newListOf(t, 0, 8)
		h.stage(next)
		h.hear(next, next.NID(5), h.in(next, true))
		h.meet(tt.silent)
		if tt.missed > 0 {
			h.now += time.Duration(tt.missed+1) * interval // the last of these cycles is due now
		}
		h.step(Input{Kind: Commit})
		if age := h.m.ages.bytes[5]; int(age) != tt.age {
			t.Errorf("%+v: a joiner has the age %d", tt, age)
		}
	}
}
