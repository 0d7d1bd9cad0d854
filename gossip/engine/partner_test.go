package engine

import (
	"maps"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestSecondPartner (G-GO-9): a cycle whose partner is overdue has a second partner. Two of
// three draws are evenly among the participants that are not overdue, the third among all that
// may be alive. A cycle whose partner is not overdue has no second one. The first partner is
// still drawn from all (GO-22, GO-39).
func TestSecondPartner(t *testing.T) {
	spec.Covers(t, "GO-22", "GO-39", "G-GO-9")
	const n, self, draws = 21, 4, 60_000
	h := newHarness(t, n, self, nil)
	limit, dead := byte(h.m.Limits().Overdue), byte(h.m.Limits().Dead)
	ages := slices.Repeat([]byte{2, limit, limit + 1, dead, dead + 1, unheard}, n)[:n]
	ages[self] = 0
	first, second := make([]float64, n), make([]float64, n)
	for range draws {
		for i, age := range ages { // ages of one cycle before the draw: the cycle adds 1 to each
			h.m.ages.bytes[i] = age - 1 + age/unheard
		}
		h.m.ages.bytes[self], h.m.merged = 0, h.m.cycle
		h.cycles(1)
		to := h.list.Index(h.sends[0].To)
		first[to]++
		if late := ages[to] > limit; len(h.sends) != 1 && !late || len(h.sends) != 2 && late {
			t.Fatalf("%d pings in a cycle whose partner is %d cycles old, with a limit of %d", len(h.sends), ages[to], limit)
		}
		if len(h.sends) == 2 {
			other := h.list.Index(h.sends[1].To)
			if second[other]++; other == to {
				t.Fatal("the second partner is the first one")
			}
		}
	}
	even(t, "first", first, func(i int) bool { return i != self })
	even(t, "second", second, func(i int) bool { return i != self && ages[i] <= limit })
	even(t, "second that is overdue", second, func(i int) bool { return ages[i] > limit && ages[i] <= dead })
	late := 0.0
	for i, c := range second {
		if ages[i] > limit {
			late += c
		}
		if ages[i] > dead && c > 0 {
			t.Errorf("%.0f second pings to a dead one", c)
		}
	}
	// A third of the draws are among all that may be alive, and half of those are overdue: a sixth. It is slightly less
	// because the first partner, which is overdue, is not drawn again.
	if share := late / sum(second); share < 0.13 || share > 0.18 {
		t.Errorf("%.3f of the second partners are overdue", share)
	}
	if s := h.m.Stats(); s.PingsSent != s.SecondPings+draws || float64(s.SecondPings) != sum(second) {
		t.Errorf("%+v", s)
	}
}

// TestOverdueToAll (G-GO-9): if all participants are overdue, the second partner is one that
// may still be alive. If none may be alive, there is no second partner.
func TestOverdueToAll(t *testing.T) {
	spec.Covers(t, "G-GO-9")
	h := newHarness(t, 8, 0, nil)
	for _, c := range []struct {
		name string
		ages []byte // ages of the participants one cycle before the draw
		want []int
	}{
		{"two overdue", []byte{0, 15, 200, 200, 15, 200, 200, 200}, []int{1, 4}},
		{"one overdue", []byte{0, 15, 200, 200, 200, 200, 200, 200}, []int{1}},
		{"nobody", []byte{0, 200, 200, 200, 200, 200, 200, 200}, nil},
	} {
		seen := make(map[int]bool)
		for range 100 {
			h.set(c.ages...)
			h.cycles(1)
			first := h.list.Index(h.sends[0].To)
			for i := range h.sends[1:] {
				seen[h.list.Index(h.sends[1+i].To)] = true
			}
			if alone := len(c.want) == 0 || len(c.want) == 1 && first == c.want[0]; alone != (len(h.sends) == 1) {
				t.Errorf("%s: %d pings, the first to %d", c.name, len(h.sends), first)
			}
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, c.want) {
			t.Errorf("%s: second partners are %v, want %v", c.name, got, c.want)
		}
	}
}

// even checks that the participants of a set were drawn evenly.
func even(t *testing.T, what string, counts []float64, in func(i int) bool) {
	t.Helper()
	var drawn []float64
	for i, c := range counts {
		if in(i) {
			drawn = append(drawn, c)
		}
	}
	want, chi2 := sum(drawn)/float64(len(drawn)), 0.0
	for _, c := range drawn {
		chi2 += (c - want) * (c - want) / want
	}
	if chi2 > 55 { // χ² test with 19 degrees of freedom: even draws exceed 55 with a probability of 0.003 %
		t.Errorf("%s: χ² of %v is %.1f", what, counts, chi2)
	}
}

func sum(list []float64) (s float64) {
	for _, v := range list {
		s += v
	}
	return s
}

// TestUnheard (G-GO-9): a node that has merged no message for two cycles pings a second partner in each cycle,
// because many participants may have just died.
func TestUnheard(t *testing.T) {
	spec.Covers(t, "G-GO-9")
	h := newHarness(t, 8, 0, nil)
	h.cycles(1)
	for cycle := range 10 {
		if cycle%5 == 0 {
			h.ping(3, h.params(h.header()), young(8, 3)...)
		}
		h.set(0, 1, 1, 1, 1, 1, 1, 1)
		h.cycles(1)
		if want := 1 + min(cycle%5/2, 1); len(h.sends) != want {
			t.Errorf("%d pings after %d cycles without a message, want %d", len(h.sends), cycle%5, want)
		}
	}
}

// TestNoSecondPartnerAfterPause (GO-A8): in the first cycles after a pause a node has no second
// partner. It would draw that partner among the nodes that it has heard since the pause. These may
// all have been paused as well, and then it would take over their clock.
func TestNoSecondPartnerAfterPause(t *testing.T) {
	spec.Covers(t, "GO-A8")
	h := newHarness(t, 8, 0, nil)
	h.cycles(1)
	h.now += 100 * interval
	h.step(Input{})
	for h.m.Unsure() {
		h.set(0, 1, unheard, unheard, unheard, unheard, unheard, unheard)
		h.m.rejuvenate()
		h.cycles(1)
		if len(h.sends) > 1 && h.m.pause.cycles <= h.m.Limits().Resync && h.m.Unsure() {
			t.Fatalf("%d pings in a cycle after a pause", len(h.sends))
		}
	}
	if h.m.Cycle() < 10 {
		t.Error("no pause was noticed")
	}
}
