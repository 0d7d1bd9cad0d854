package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// monitors fails the test unless each running node of the zone knows want other nodes as monitors.
func (s *system) monitors(what string, want int) {
	s.t.Helper()
	for _, n := range s.zones[0] {
		if got := len(n.m.attributes.monitors); n.up && got != want {
			s.t.Errorf("%s: %s knows %d monitors, want %d", what, n.id.Name(), got, want)
		}
	}
}

// TestDelegatesMonitor: a node that its user made a monitor stays a monitor when it is a delegate, when it is the
// active one, and after it has resigned (MS-59, MS-101).
func TestDelegatesMonitor(t *testing.T) {
	spec.Covers(t, "MS-59", "MS-101")
	s := newSystem(t, 3, 1, 7, 3)
	for _, n := range s.zones[0] {
		n.step(Input{Kind: Set, Key: MonitorKey})
	}
	s.until(5*time.Second, s.right)
	s.run(3 * time.Second)
	s.monitors("a new zone", 6)
	half := map[int]bool{}
	for i, n := range s.zones[0] {
		half[n.i] = i%2 == 0
	}
	s.cut = func(a, b int) bool { return min(a, b) > 2 && half[a] != half[b] }
	s.until(time.Minute, func() bool { return len(s.active(0)) == 2 })
	s.cut = nil
	s.until(time.Minute, func() bool { return len(s.active(0)) == 1 && s.right() })
	s.run(3 * time.Second)
	s.monitors("one of two active delegates has resigned", 6)
}

// TestResignedMonitor: an active delegate that its user did not make a monitor is no monitor any more after it has
// resigned (MS-101).
func TestResignedMonitor(t *testing.T) {
	spec.Covers(t, "MS-101")
	s := newSystem(t, 3, 1, 7, 3)
	s.until(5*time.Second, s.right)
	a := s.active(0)[0]
	s.cut = func(x, y int) bool { return min(x, y) > 2 && (x == a.i || y == a.i) }
	s.until(time.Minute, func() bool { return len(s.active(0)) == 2 })
	s.cut = nil
	s.until(time.Minute, func() bool { return len(s.active(0)) == 1 && s.right() })
	s.run(3 * time.Second)
	for _, n := range s.zones[0] {
		if got := n.m.attributes.monitors; n.m.delegate.own == 0 && (len(got) != 1 || n.m.Table().ID(got[0]) != s.active(0)[0].id) {
			t.Errorf("%s knows %d monitors", n.id.Name(), len(got))
		}
	}
}
