package kit_test

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// TestStalled: a stall is found in its direction, up to its end.
func TestStalled(t *testing.T) {
	var h kit.LinkHistory
	h.Happens(&sim.Act{Verb: sim.Stall, From: sim.Nodes(1), To: sim.AllNodes, Extra: time.Second}, time.Second, 4)
	if !h.Stalled(1, 2, 0) || !h.Stalled(1, 2, 2*time.Second) {
		t.Error("not found")
	}
	if h.Stalled(2, 1, 0) || h.Stalled(1, 2, 2*time.Second+1) {
		t.Error("found in the other direction, or does not end")
	}
}

// TestLinkHistory: Since(t) yields the state with a fault of links for every t up to the end of the
// fault, also for a t before the fault begins, and not for a later t.
func TestLinkHistory(t *testing.T) {
	one, two := sim.Nodes(1), sim.Nodes(2)
	lossy := link.Change{Fields: link.FieldLoss, To: link.Quality{Loss: 0.5}}
	for name, acts := range map[string][2]sim.Act{
		"cut":       {{Verb: sim.Cut, From: one, To: two}, {Verb: sim.Heal}},
		"partition": {{Verb: sim.Partition, Sets: []sim.NodeSet{one, two}}, {Verb: sim.Heal}},
		"loss":      {{Verb: sim.SetLink, From: one, To: two, Change: lossy}, {Verb: sim.ResetLinks}},
		"loss, set back": {
			{Verb: sim.SetLink, From: one, To: two, Change: lossy},
			{Verb: sim.SetLink, From: one, To: two, Change: link.Change{Fields: link.FieldLoss}},
		},
	} {
		var h kit.LinkHistory
		found := func(from, to sim.NodeID, since time.Duration) bool {
			for s := range h.Since(since) {
				if s.Apart(from, to) || s.Quality(link.Quality{}, from, to).Loss > 0 {
					return true
				}
			}
			return false
		}
		h.Happens(&sim.Act{Verb: sim.Pause, Node: 1}, time.Second, 4)
		if found(1, 2, 0) {
			t.Errorf("%s: found before it began", name)
		}
		h.Happens(&acts[0], 2*time.Second, 4)
		if !found(1, 2, 0) || !found(1, 2, 3*time.Second) {
			t.Errorf("%s: not found", name)
		}
		if s := h.Latest(); !s.Apart(1, 2) && s.Quality(link.Quality{}, 1, 2).Loss == 0 {
			t.Errorf("%s: not found at present", name)
		}
		h.Happens(&acts[1], 4*time.Second, 4)
		h.Happens(&sim.Act{Verb: sim.Heal}, 5*time.Second, 4)
		if !found(1, 2, 4*time.Second) || found(1, 2, 4*time.Second+1) {
			t.Errorf("%s: does not end", name)
		}
		if s := h.Latest(); s.Apart(1, 2) || s.Quality(link.Quality{}, 1, 2).Loss > 0 {
			t.Errorf("%s: found at present", name)
		}
		if found(3, 0, 0) {
			t.Errorf("%s: found between other nodes", name)
		}
	}
}
