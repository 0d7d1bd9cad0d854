package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestStutter: a node that pauses again and again, and receives messages between the pauses,
// eventually reports a death. Changes are not held back for ever (GO-65, GO-A7, GO-A8).
func TestStutter(t *testing.T) {
	spec.Covers(t, "GO-65", "GO-A7", "GO-A8")
	for name, skipped := range map[string]int{"short pauses": 1, "long ones": 100} {
		h := newHarness(t, 16, 0, nil)
		h.meet(20)
		var events []Event
		step := func() {
			h.step(Input{})
			events = append(events, h.out.Events...)
			for k := 1; k < 15; k += 2 { // no message has an age of participant 15
				ages := young(16, k)
				ages[15] = unheard
				h.ping(k, h.params(h.header()), ages...)
				events = append(events, h.out.Events...)
			}
		}
		begin, patience := h.m.Cycle(), h.m.patience()
		for h.m.Cycle() < begin+patience+12 {
			h.now += time.Duration(skipped+1) * interval
			step()
			h.now = h.wake
			step()
			h.now = h.wake
			step()
		}
		if !slices.Contains(kinds(events), Paused) {
			t.Fatalf("%s: did not stand still", name)
		}
		if p := h.m.Participant(3); skipped == 1 && (p.Health != Alive || p.Aliveness != 0) {
			t.Errorf("%s: %+v is heard of in every cycle that is not missed", name, p)
		}
		p := h.m.Participant(15)
		if p.Health == Alive {
			t.Errorf("%s: %+v after %d cycles, told %v", name, p, h.m.Cycle()-begin, kinds(events))
		}
	}
}
