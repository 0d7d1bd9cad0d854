package lnetsim

import "testing"

// TestLostProbes: lost probes are counted for each pair of nodes.
func TestLostProbes(t *testing.T) {
	var l lostProbes
	for i, c := range []struct {
		pair pair
		most int
	}{
		{pair{1, 2}, 1},
		{pair{1, 3}, 1},
		{pair{2, 1}, 1},
		{pair{1, 2}, 2},
		{pair{2, 1}, 2},
		{pair{1, 2}, 3},
	} {
		if l.add(c.pair); l.most != c.most {
			t.Errorf("after loss %d: %d, want %d", i, l.most, c.most)
		}
	}
	if want := (pair{1, 2}); l.worst != want {
		t.Errorf("the most were lost between %v, want %v", l.worst, want)
	}
}
