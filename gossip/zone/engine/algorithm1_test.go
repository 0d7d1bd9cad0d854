package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestAlive checks how a node handles the news that another one is alive in a certain version: PROCESSALIVE
// (Alg. 1, lines 1 to 9).
func TestAlive(t *testing.T) {
	spec.Covers(t, "MS-13", "MS-14", "MS-41", "MS-42", "MS-44", "MS-45", "MS-A5", "MS-A6")
	t.Run("MS-41 unknown joins", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.want(Event{Kind: Joined, Node: s.ref[2], Version: v(7, 3)})
		s.is(2, inView, v(7, 3))
		s.delta(1, 0, 0)
	})
	t.Run("MS-13 MS-14 MS-41 equal to the history is stale", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.leave(2, v(7, 3), 0)
		for _, old := range []wire.Version{v(7, 3), v(7, 1), v(6, 9)} {
			s.alive(2, old)
			s.want()
			s.is(2, inHistory, v(7, 3))
		}
		s.alive(2, v(7, 4))
		s.want(Event{Kind: Joined, Node: s.ref[2], Version: v(7, 4)})
		s.is(2, inView, v(7, 4))
		if len(s.m.History()) != 0 {
			t.Error("in view and history at once")
		}
	})
	t.Run("MS-42 equal is nothing", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.pass(s.m.cfg.Aggregation) // the collected changes are sent
		s.delta(0, 0, 0)
		s.alive(2, v(7, 3))
		s.alive(2, v(7, 2))
		s.want()
		s.delta(0, 0, 0)
	})
	t.Run("MS-44 MS-A6 a minor number is silent", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.pass(s.m.cfg.Aggregation)
		s.alive(2, v(7, 4))
		s.want()
		s.is(2, inView, v(7, 4))
		s.delta(1, 0, 0)
	})
	t.Run("MS-45 MS-A6 a new incarnation is two events", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.alive(2, v(7, 5))
		s.alive(2, v(8, 1))
		s.want( // MS-A5: the event has the version that was announced
			Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Restarted},
			Event{Kind: Joined, Node: s.ref[2], Version: v(8, 1)})
	})
}

// TestAliveOfOthers: a newer version of a node clears the suspicions about it. This node
// refutes a version of itself that it did not announce.
func TestAliveOfOthers(t *testing.T) {
	spec.Covers(t, "MS-7", "MS-43")
	t.Run("MS-43 suspicions of older versions go", func(t *testing.T) {
		s := newSolo(t, 6, Config{Threshold: 3, Successors: 3})
		for i := 2; i < 6; i++ {
			s.alive(i, v(7, 1))
		}
		s.alive(2, v(7, 3))
		s.suspicion(3, 2, v(7, 3))
		s.alive(2, v(7, 3)) // the same version does not refute a report
		if n := len(s.m.suspicions.on(s.ref[2])); n != 1 {
			t.Errorf("%d reports after an equal version", n)
		}
		s.suspicion(4, 2, v(7, 5)) // a newer version exists, so the older report was refuted
		s.alive(2, v(7, 5))
		if r := s.m.suspicions.on(s.ref[2]); len(r) != 1 || r[0].by != s.ref[4] {
			t.Errorf("reports %v", r)
		}
		s.alive(2, v(7, 6))
		if n := len(s.m.suspicions.on(s.ref[2])); n != 0 {
			t.Errorf("%d reports after a newer version", n)
		}
	})
	t.Run("MS-7 nobody else raises a version", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(0, v(10, 8))
		if s.m.ver != v(10, 9) { // this node's version is one above the reported one
			t.Errorf("own version %v", s.m.ver)
		}
		s.want(Event{Kind: Clash, Node: s.ref[0], Version: v(10, 8)}, Event{Kind: Refuted, Node: s.ref[0], Version: v(10, 9)})
		s.alive(0, v(10, 4))
		s.want()
	})
}

// TestLeave checks how a node handles a goodbye: PROCESSLEAVE (Alg. 1, lines 10 to 15).
func TestLeave(t *testing.T) {
	spec.Covers(t, "MS-12", "MS-46", "MS-47", "MS-51", "MS-52", "MS-57", "MS-A3", "MS-A4", "MS-A28",
		"MS-A33")
	t.Run("MS-46 in view", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.leave(2, v(7, 2), 4)
		s.want()
		s.leave(2, v(7, 3), 4)
		s.want(Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Said, Code: 4})
		s.is(2, inHistory, v(7, 3))
		s.delta(1, 1, 0)
		if h := s.m.History(); len(h) != 1 || !h[0].Orderly || h[0].Code != 4 { // a goodbye with code 4 (MS-12, MS-A33)
			t.Errorf("history %+v", h)
		}
	})
	t.Run("MS-47 out of view", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.alive(2, v(7, 3))
		s.leave(2, v(7, 3), 0)
		s.pass(s.m.cfg.Aggregation)
		s.leave(2, v(7, 3), 0)
		s.delta(0, 0, 0)
		s.leave(2, v(7, 5), 0)
		s.want()
		s.is(2, inHistory, v(7, 5))
		s.delta(0, 1, 0)
	})
	t.Run("MS-52 MS-A4 of an unknown node", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.leave(2, v(7, 3), 0)
		s.want()
		s.delta(0, 1, 0) // the goodbye is forwarded once
		s.leave(2, v(7, 3), 0)
		s.delta(0, 1, 0)
		s.alive(2, v(7, 3)) // this Alive arrives after the goodbye, and does not add the node
		s.want()
		s.is(2, inHistory, v(7, 3))
		s.alive(2, v(8, 1))
		s.is(2, inView, v(8, 1))
	})
	t.Run("MS-51 MS-A3 of itself", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.leave(0, v(10, 1), 0)
		s.want(Event{Kind: Refuted, Node: s.ref[0], Version: v(10, 2)})
		s.leave(0, v(10, 1), 0) // the same goodbye arrives again and has no effect
		s.want()
		s.is(0, inView, v(10, 2))
	})
	t.Run("MS-57 MS-A28 goodbyes come first", func(t *testing.T) {
		s := newSolo(t, 5, Config{})
		s.update(wire.Lists{Leaves: []wire.Departure{{Node: s.ref[2], Version: v(7, 3), Code: 0}}, Alive: []wire.Member{{Node: s.ref[2], Version: v(7, 3)}}})
		s.want()
		s.is(2, inHistory, v(7, 3))
		// A newer version in the same message as a suspicion refutes it before it counts.
		s.alive(3, v(7, 1))
		s.update(wire.Lists{Alive: []wire.Member{{Node: s.ref[3], Version: v(7, 2)}}, Suspicions: []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[3], Version: v(7, 1)}}})
		s.is(3, inView, v(7, 2))
	})
}

// acquainted makes a machine with a view of n nodes that has no changes left to send (Δ is
// empty).
func acquainted(t *testing.T, n int, cfg Config) *solo {
	t.Helper()
	s := newSolo(t, n, cfg)
	for i := 1; i < n; i++ {
		s.alive(i, v(7, 3))
	}
	s.pass(s.m.cfg.Aggregation)
	return s
}

// TestSuspicion checks how a node handles a report that a member failed: PROCESSSUSPICION (Alg. 1, lines 16
// to 23).
func TestSuspicion(t *testing.T) {
	spec.Covers(t, "MS-36", "MS-37", "MS-38", "MS-48", "MS-49", "MS-50", "MS-A2", "MS-A5")
	t.Run("MS-37 MS-49 older than the view", func(t *testing.T) {
		s := acquainted(t, 6, Config{})
		s.suspicion(3, 2, v(7, 2))
		s.delta(0, 0, 0)
	})
	t.Run("MS-36 MS-49 each report counts once", func(t *testing.T) {
		s := acquainted(t, 6, Config{Threshold: 3, Successors: 3})
		s.suspicion(3, 2, v(7, 3))
		s.delta(0, 0, 1)
		s.suspicion(3, 2, v(7, 3))
		s.delta(0, 0, 1)
		s.suspicion(3, 2, v(7, 4)) // newer than the view: stored and forwarded (MS-A5: the view is raised without an event)
		s.want()
		s.delta(0, 0, 2)
		s.is(2, inView, v(7, 4))
		if l := s.m.Suspicions(); len(l) != 1 || l[0].Version != v(7, 4) || l[0].Needed != 3 {
			t.Errorf("%+v", l)
		}
	})
	for theta := 1; theta <= 3; theta++ {
		t.Run("MS-38 MS-50 threshold", func(t *testing.T) {
			s := acquainted(t, 9, Config{Threshold: theta, Successors: 3})
			for by := range theta {
				s.is(2, inView, v(7, 3))
				s.suspicion(3+by, 2, v(7, 3))
			}
			s.want(Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Dead})
			s.is(2, inHistory, v(7, 3))
			s.delta(0, 0, theta) // suspicions are forwarded, joins and leaves are not
		})
	}
	t.Run("MS-48 MS-A2 of itself, once", func(t *testing.T) {
		s := acquainted(t, 105, Config{})
		for by := 1; by <= 100; by++ {
			s.suspicion(by, 0, v(10, 1))
		}
		if s.m.ver != v(10, 2) || s.m.stats.Refuted != 99 {
			t.Errorf("version %v, %d refuted before", s.m.ver, s.m.stats.Refuted)
		}
		s.delta(1, 0, 0)
		s.suspicion(1, 0, v(12, 5)) // names a later incarnation than this node has; the node refutes it by beginning the next one, 13
		s.want(Event{Kind: Refuted, Node: s.ref[0], Version: v(13, 1)})
	})
	t.Run("MS-A2 too far ahead", func(t *testing.T) {
		s := acquainted(t, 6, Config{Ahead: 1 << 32, Wall: 1000})
		s.suspicion(3, 0, v(1<<62, 1))
		s.suspicion(3, 2, v(1<<62, 1))
		s.alive(4, v(1<<62, 1))
		s.leave(5, v(1<<62, 1), 0)
		if s.m.ver != v(10, 1) || s.m.stats.TooFarAhead != 4 || s.m.Len() != 6 {
			t.Errorf("version %v, %d too far ahead", s.m.ver, s.m.stats.TooFarAhead)
		}
	})
}

// TestSuspicionBelieved checks which reports of suspicion are accepted.
func TestSuspicionBelieved(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A5", "MS-A29")
	t.Run("MS-A5 of an incarnation not seen yet", func(t *testing.T) {
		s := acquainted(t, 6, Config{})
		s.suspicion(3, 2, v(8, 1))
		s.want(Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Restarted}, Event{Kind: Joined, Node: s.ref[2], Version: v(8, 1)})
		s.suspicion(4, 2, v(8, 1))
		s.want(Event{Kind: Left, Node: s.ref[2], Version: v(8, 1), Cause: Dead})
	})
	t.Run("MS-A29 reporters that are not in the view", func(t *testing.T) {
		s := acquainted(t, 6, Config{Threshold: 2})
		s.leave(3, v(7, 3), 0)
		s.suspicion(3, 2, v(7, 3))
		s.suspicion(4, 2, v(7, 3))
		s.is(2, inView, v(7, 3))
		s.leave(4, v(7, 3), 0) // the reporter says goodbye: its report is dropped
		s.suspicion(5, 2, v(7, 3))
		s.is(2, inView, v(7, 3))
	})
	t.Run("MS-A1 views of two and three", func(t *testing.T) {
		two := acquainted(t, 2, Config{})
		two.suspicion(1, 1, v(7, 3)) // a node cannot suspect itself
		two.is(1, inView, v(7, 3))
		two.suspicion(0, 1, v(7, 3))
		two.is(1, inHistory, v(7, 3))

		three := acquainted(t, 3, Config{})
		three.suspicion(1, 2, v(7, 3)) // nodes 1 and 2 suspect each other, since the link between them is broken: both stay
		three.suspicion(2, 1, v(7, 3))
		three.is(1, inView, v(7, 3))
		three.is(2, inView, v(7, 3))

		dead := acquainted(t, 3, Config{})
		dead.suspicion(0, 1, v(7, 3))
		dead.suspicion(0, 2, v(7, 3))
		dead.is(1, inHistory, v(7, 3))
		dead.is(2, inHistory, v(7, 3))
	})
	t.Run("MS-A1 who suspects everybody", func(t *testing.T) {
		s := acquainted(t, 64, Config{Threshold: 1, Successors: 1, Random: 2})
		var all []wire.Suspicion
		for i := 2; i < 64; i++ {
			all = append(all, wire.Suspicion{Reporter: s.ref[1], Suspect: s.ref[i], Version: v(7, 3)})
		}
		s.update(wire.Lists{Suspicions: all})
		if s.m.Len() != 64 {
			t.Errorf("one ill node removed %d", 64-s.m.Len())
		}
	})
}
