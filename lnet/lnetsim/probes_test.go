package lnetsim

import (
	"testing"
	"time"
)

// TestLostProbes: lost probes are counted for each pair of nodes. Those that failed together, because they waited for one ping of
// discovery, count once.
func TestLostProbes(t *testing.T) {
	var l lostProbes
	for i, c := range []struct {
		pair pair
		at   time.Duration
		held bool
		most int
	}{
		{pair{1, 2}, 5, true, 1},
		{pair{1, 2}, 5, true, 1},
		{pair{1, 3}, 5, true, 1},
		{pair{2, 1}, 5, false, 1},
		{pair{2, 1}, 5, false, 2},
		{pair{1, 2}, 7, true, 2},
		{pair{1, 2}, 7, false, 3},
	} {
		if l.add(c.pair, c.at, c.held); l.most != c.most {
			t.Errorf("after loss %d: %d, want %d", i, l.most, c.most)
		}
	}
	if want := (pair{1, 2}); l.worst != want {
		t.Errorf("the most were lost between %v, want %v", l.worst, want)
	}
}
