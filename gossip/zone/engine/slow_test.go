package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestBehind: a node whose timers are all a little late notices that it is too slow; a node
// with an occasional late timer does not (G-MS-8).
func TestBehind(t *testing.T) {
	spec.Covers(t, "G-MS-8")
	for _, tt := range []struct {
		onTime int // number of punctual steps between two late ones
		late   bool
	}{{0, true}, {1, false}} {
		p := pauses{}
		p.init(2 * time.Second)
		now, most := time.Duration(0), time.Duration(0)
		p.enter(now)
		for range 100 {
			for range tt.onTime {
				now = p.leave(now, now+50*time.Millisecond)
				p.late(now)
				p.enter(now)
			}
			now = p.leave(now, now+50*time.Millisecond) + 100*time.Millisecond
			most = max(most, p.late(now))
			p.enter(now)
		}
		if got := most > 250*time.Millisecond; got != tt.late {
			t.Errorf("%d steps on time: late by %v at most", tt.onTime, most)
		}
	}
}

// TestLateTimer: a node whose timer is stepped late notices that, even without a message,
// because messages of others may be delayed here as well (MS-A29, G-MS-8).
func TestLateTimer(t *testing.T) {
	spec.Covers(t, "MS-A29", "G-MS-8")
	w := booted(t, 1, 16, Config{})
	n := w.nodes[0]
	w.cut = func(from, to int) bool { return to == n.i || from == n.i }
	n.pause()
	w.run(1900 * time.Millisecond) // shorter than a time that counts as a pause
	n.resume()
	if s := n.m.Status(); s.Stats.Late == 0 || s.Stats.Pauses != 0 || !s.Paused {
		t.Errorf("late %d, pauses %d", s.Stats.Late, s.Stats.Pauses)
	}
}
