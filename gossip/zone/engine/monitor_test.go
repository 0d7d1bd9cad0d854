package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
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

// TestMostMonitors: however many nodes declare themselves monitors, a node notifies only so many of a suspicion. When
// one of these leaves, another one takes its place (MS-60, MS-110).
func TestMostMonitors(t *testing.T) {
	spec.Covers(t, "MS-60", "MS-110")
	s := acquainted(t, maxMonitors+10, Config{})
	for i := 2; i < maxMonitors+10; i++ {
		s.give(1, wire.TableData{Owner: s.ref[i], Inc: 7, To: 1, Last: true, Entries: []wire.Attribute{{Key: MonitorKey, U: 1}}})
	}
	s.suspicion(0, 1, v(7, 3))
	if n := s.count(wire.Notice); n != maxMonitors {
		t.Errorf("%d of %d monitors are notified", n, len(s.m.attributes.monitors))
	}
	last := s.out.Sends[len(s.out.Sends)-1].To
	s.leave(2, v(7, 3), 0)
	s.suspicion(0, 3, v(7, 3))
	if n := s.count(wire.Notice); n != maxMonitors-1 || s.out.Sends[len(s.out.Sends)-1].To == last { // without the suspect
		t.Errorf("%d monitors are notified after one has left", n)
	}
}

// TestMonitorLearnedLast: a delegate becomes active when many nodes have declared themselves monitors. Though it is the last
// one, nodes notify it of a suspicion (MS-59, MS-101, MS-110).
func TestMonitorLearnedLast(t *testing.T) {
	spec.Covers(t, "MS-59", "MS-101", "MS-110")
	last := maxMonitors + 9
	s := acquainted(t, last+1, Config{Management: []wire.ID{testID(last + 1)}})
	for i := 2; i <= last; i++ {
		list := []wire.Attribute{{Key: MonitorKey, U: 1}}
		if i == last {
			list = append(list, wire.Attribute{Key: delegateKey, Value: []byte("9"), U: 2})
		}
		s.give(1, wire.TableData{Owner: s.ref[i], Inc: 7, To: 2, Last: true, Entries: list})
	}
	s.suspicion(0, 1, v(7, 3))
	told := false
	for i := range s.out.Sends {
		told = told || s.out.Sends[i].Message.Kind == wire.Notice && s.out.Sends[i].To == s.ref[last]
	}
	if n := s.count(wire.Notice); n != maxMonitors || !told {
		t.Errorf("%d of %d monitors are notified, the active delegate: %v", n, len(s.m.attributes.monitors), told)
	}
}
