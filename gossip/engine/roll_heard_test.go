package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
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

// TestRollHeardOfOthers: a ping in the new list has news of all joiners. Before the commit they are shown as they would be
// after it, so that an operator sees whether the new list has a quorum (GO-A21).
func TestRollHeardOfOthers(t *testing.T) {
	spec.Covers(t, "GO-A21")
	limits, _ := Config{Interval: interval}.Limits(8)
	for _, tt := range []struct {
		told, age byte // the age of a joiner in the ping of another one, and the one that this node then has of it
		health    Health
	}{
		{told: 1, age: 2, health: Alive},
		{told: byte(limits.Again - 1), age: byte(limits.Again), health: Alive},
		{told: byte(limits.Again), age: unheard},
		{told: oldest, age: unheard},
		{told: unheard, age: unheard},
	} {
		h := newHarness(t, 4, 2, nil)
		h.meet(2 * limits.Again)
		next := newListOf(t, 0, 8)
		h.stage(next)
		ages := young(8, 5)
		ages[6], ages[7] = tt.told, unheard
		h.step(Input{Kind: Ping, From: next.NID(5), Data: append(h.in(next, true).AppendTo(nil), ages...)})
		s := h.m.RollStatus()
		if s.Members[5].Health != Alive || s.Members[6].Health != tt.health || s.Members[7].Health != Unknown {
			t.Errorf("%+v: before the commit %+v", tt, s.Members[4:])
		}
		away := []nid.NID{next.NID(6), next.NID(7)}
		if tt.health == Alive {
			away = away[1:]
		}
		if got := s.NotAlive(); !slices.Equal(got, away) {
			t.Errorf("%+v: %v are not alive, want %v", tt, got, away)
		}
		h.step(Input{Kind: Commit})
		if got := h.m.ages.bytes[4:8]; !slices.Equal(got, []byte{2, 0, tt.age, unheard}) {
			t.Errorf("%+v: joiners have the ages %v", tt, got)
		}
		if n, want := h.m.AliveCount(), 8-len(away); n != want {
			t.Errorf("%+v: %d are alive, want %d", tt, n, want)
		}
	}
}
