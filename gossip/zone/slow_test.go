package zone

import (
	"testing"
	"time"
)

// TestLateTimer: a node that is woken late notices, even if no message says so: what
// others sent may lie here, too (MS-A29, G-MS-8).
func TestLateTimer(t *testing.T) {
	w := booted(t, 1, 16, Config{})
	n := w.nodes[0]
	w.cut = func(from, to int) bool { return to == n.i || from == n.i }
	n.pause()
	w.run(1900 * time.Millisecond) // shorter than what counts as a pause
	n.resume()
	if s := n.m.Status(); s.Stats.Late == 0 || s.Stats.Pauses != 0 || !s.Paused {
		t.Errorf("late %d, pauses %d", s.Stats.Late, s.Stats.Pauses)
	}
}
