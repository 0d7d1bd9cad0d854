package engine

import (
	"slices"
	"testing"
)

// TestSeedsDiffer: nodes with the same seed draw different partners and phases.
func TestSeedsDiffer(t *testing.T) {
	const n = 40
	var draws [][]int
	for self := range n {
		h := newHarness(t, n, self, func(c *Config) { c.Seed = 0 })
		d := []int{int(h.wake)}
		for range 8 { // d gets distances from this node, so that equal draws of two nodes give equal numbers
			h.cycles(1)
			d = append(d, (h.list.Index(h.sends[0].To)+n-self)%n)
		}
		draws = append(draws, d)
	}
	slices.SortFunc(draws, slices.Compare)
	phases := make(map[int]bool)
	for i, d := range draws {
		phases[d[0]] = true
		if i > 0 && slices.Equal(d[1:], draws[i-1][1:]) {
			t.Errorf("two nodes draw %v", d)
		}
	}
	if len(phases) < n {
		t.Errorf("%d phases of %d nodes", len(phases), n)
	}
}
