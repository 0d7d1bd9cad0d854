package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// booted returns a zone that has been at rest for a while.
func booted(t *testing.T, seed uint64, n int, cfg Config) *world {
	t.Helper()
	w := newWorld(t, seed, n, cfg).boot()
	w.until(10*time.Second, w.agree)
	w.run(10 * time.Second)
	return w
}

// TestManyFail: if many nodes fail at once, all others remove exactly these nodes (MS-3, MS-9,
// MS-31, MS-32, MS-A1).
func TestManyFail(t *testing.T) {
	spec.Covers(t, "MS-3", "MS-9", "MS-31", "MS-32", "MS-A1")
	for _, c := range []struct{ n, fail int }{{2, 1}, {3, 2}, {8, 7}, {32, 16}, {48, 5}} {
		for _, silent := range []bool{false, true} {
			for seed := range effort.Of[uint64](1, 1, 3) {
				t.Run(fmt.Sprintf("MS-3 %d of %d silent %v", c.fail, c.n, silent), func(t *testing.T) {
					w := booted(t, seed, c.n, Config{})
					for _, i := range w.rng.Perm(c.n)[:c.fail] {
						if silent {
							w.nodes[i].crash()
						} else {
							w.nodes[i].kill()
						}
					}
					w.until(20*time.Second, w.agree)
					w.run(30 * time.Second)
					if !w.agree() || w.wrongly > 0 {
						w.fail("agreed once, not any more; %d removed that live", w.wrongly)
					}
				})
			}
		}
	}
}

// TestNeighbourhoodFails: a node fails together with all its random neighbours. The nodes that
// now precede it on the ring detect the failure (MS-26, MS-33).
func TestNeighbourhoodFails(t *testing.T) {
	spec.Covers(t, "MS-26", "MS-33")
	for seed := range effort.Of[uint64](2, 2, 5) {
		w := booted(t, seed, 40, Config{})
		victim := w.nodes[7]
		for _, p := range victim.m.Neighbours(nil) {
			w.nodeOf(victim, p).crash()
		}
		victim.crash()
		w.until(40*time.Second, w.agree)
		if w.wrongly > 0 {
			w.fail("%d removed that live", w.wrongly)
		}
	}
}

// TestPartitions: the sides of a partition remove each other, and find each other again. The
// views are equal soon after the first contact between the sides (MS-9, MS-19 to MS-21, MS-A7).
func TestPartitions(t *testing.T) {
	spec.Covers(t, "MS-9", "MS-19", "MS-20", "MS-21", "MS-A7")
	for _, c := range []struct{ a, b int }{{2, 2}, {8, 2}, {1, 15}, {8, 8}, {50, 50}} {
		t.Run(fmt.Sprintf("MS-21 %d and %d", c.a, c.b), func(t *testing.T) {
			if c.a == 50 && !effort.Long() {
				t.Skip("takes seconds: set ULNET_LONG=1")
			}
			w := booted(t, uint64(c.a), c.a+c.b, Config{})
			w.cut = func(x, y int) bool { return (x < c.a) != (y < c.a) }
			w.until(2*time.Minute, func() bool {
				for _, n := range w.nodes {
					side := c.a
					if n.i >= c.a {
						side = c.b
					}
					// A single node does not conclude that all others have failed.
					if side > 1 && n.m.Len() != side {
						return false
					}
				}
				return true
			})
			w.run(time.Minute)
			w.cut = nil
			contact := time.Duration(0)
			w.tap = func(from, to *node, _ *Send, m *wire.Message, _ int) {
				if (from.i < c.a) != (to.i < c.a) && contact == 0 {
					contact = w.now
				}
			}
			w.until(time.Minute, w.agree)
			diameter := w.nodes[0].m.diameter()
			if took, most := w.now-contact, 3*time.Duration(diameter+2)*200*time.Millisecond; took > most {
				t.Errorf("%v after the first contact, want at most %v", took, most)
			}
		})
	}
}

// TestPause: nodes that were paused remove no member when they resume (MS-A29).
func TestPause(t *testing.T) {
	spec.Covers(t, "MS-A29")
	for seed := range effort.Of[uint64](1, 1, 4) {
		w := booted(t, seed, 64, Config{})
		w.told = func(n *node, e *Event) {
			if e.Kind == Left && w.byNID[e.ID.Endpoints()[0]].i >= 4 {
				w.fail("%v removes %v", n.id, e.ID)
			}
		}
		for _, n := range w.nodes[:4] {
			n.pause()
		}
		w.run(8 * time.Second)
		for _, n := range w.nodes[:4] {
			n.resume()
			if n.m.stats.Pauses == 0 {
				t.Error("a pause was not noticed")
			}
		}
		w.until(20*time.Second, w.agree)
		w.run(10 * time.Second)
		if !w.agree() {
			w.fail("not so any more")
		}
	}
}

// TestSlow: nodes so slow that messages queue at them do not remove a member (G-MS-8).
func TestSlow(t *testing.T) {
	spec.Covers(t, "G-MS-8")
	few, all := []time.Duration{50 * time.Millisecond, 500 * time.Millisecond}, []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond}
	for seed := range effort.Of[uint64](1, 1, 3) {
		for _, slow := range effort.Of(few, few, all) {
			w := booted(t, seed, 64, Config{})
			w.told = func(n *node, e *Event) {
				if e.Kind == Left && w.byNID[e.ID.Endpoints()[0]].slow == 0 {
					w.fail("%v removes %v", n.id, e.ID)
				}
			}
			for _, n := range w.nodes[:4] {
				n.slow = slow
			}
			w.run(time.Minute)
		}
	}
}

// TestLateMessage: a node that processes a message long after its arrival suspects no member
// soon after that (MS-A29).
func TestLateMessage(t *testing.T) {
	spec.Covers(t, "MS-A29")
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	fail := func(i int) {
		s.step(Input{Kind: Down, Node: s.ref[i]})
		s.step(Input{Kind: Failed, Node: s.ref[i]})
	}
	s.step(Input{Kind: Delivered, At: s.now - 600*time.Millisecond, Message: &wire.Message{Kind: wire.Heartbeat, From: s.ref[1], Version: v(7, 1)}})
	fail(2)
	if s.m.stats.Filed != 0 || s.m.stats.Late != 1 || s.m.stats.Excused == 0 {
		t.Errorf("filed %d, late %d", s.m.stats.Filed, s.m.stats.Late)
	}
	for range 4 {
		for i := 1; i < 9; i++ {
			s.hear(i, v(7, 1), wire.Message{Kind: wire.Heartbeat})
		}
		s.pass(time.Second)
	}
	fail(3)
	if s.m.stats.Filed != 1 {
		t.Errorf("filed %d", s.m.stats.Filed)
	}
}

// minutes returns for how many minutes a test of suspicions that become rare runs. The parameter few
// is the number for a short run and, if there are more than ten nodes, also for a normal run.
// Otherwise the result is ten.
func minutes(nodes int, few time.Duration) time.Duration {
	if nodes > 10 {
		return effort.Of(few, few, 10)
	}
	return effort.Of(few, 10, 10)
}

// TestBrokenLink: one broken link between two of many nodes removes no member, although both
// suspect each other, and their reports become rare (MS-38, MS-A1, MS-A2).
func TestBrokenLink(t *testing.T) {
	spec.Covers(t, "MS-38", "MS-A1", "MS-A2")
	for _, n := range []int{3, 30} {
		w := booted(t, 1, n, Config{})
		a := w.nodes[0]
		b := w.nodeOf(a, a.m.Neighbours(nil)[0])
		w.cut = func(x, y int) bool { return x == a.i && y == b.i || x == b.i && y == a.i }
		w.run(minutes(n, 4) * time.Minute)
		if !w.agree() || w.wrongly > 0 {
			w.fail("%d removed that live", w.wrongly)
		}
		if filed := a.m.stats.Filed + b.m.stats.Filed; filed == 0 || filed > 30 {
			t.Errorf("%d suspicions in ten minutes", filed)
		}
	}
}

// TestIllNode: a node that receives nothing, or cannot send because of a fault of its own host, removes no
// member (MS-2, MS-A1).
func TestIllNode(t *testing.T) {
	spec.Covers(t, "MS-2", "MS-A1")
	deaf := booted(t, 1, 64, Config{})
	deaf.cut = func(_, to int) bool { return to == 9 }
	deaf.told = func(n *node, e *Event) {
		if e.Kind == Left && e.ID != deaf.nodes[9].id && n.i != 9 {
			deaf.fail("%v removes %v", n.id, e.ID)
		}
	}
	deaf.run(effort.Of[time.Duration](1, 1, 2) * time.Minute)

	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	for i := 1; i < 9; i++ {
		for range 3 {
			s.step(Input{Kind: Failed, Node: s.ref[i], Local: true})
		}
	}
	if s.m.stats.Filed > 0 || s.m.stats.LocalErrors != 24 {
		t.Errorf("%d suspicions of %d local errors", s.m.stats.Filed, s.m.stats.LocalErrors)
	}
}

// TestMuted: if more than half of a node's links fail at once, it files no report until one link
// proves alive. Then it reports the links that still fail (MS-A1).
func TestMuted(t *testing.T) {
	spec.Covers(t, "MS-A1")
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	for i := 1; i < 7; i++ {
		s.step(Input{Kind: Down, Node: s.ref[i]})
		s.step(Input{Kind: Failed, Node: s.ref[i]})
	}
	if n := s.m.stats.Filed; n != 4 || !s.m.blind.muted { // reports about half of the eight links were filed before the machine suspected itself
		t.Errorf("%d suspicions, muted %v", n, s.m.blind.muted)
	}
	s.pass(500 * time.Millisecond)
	s.hear(8, v(7, 1), wire.Message{Kind: wire.Heartbeat})
	if s.m.blind.muted || s.count(wire.Heartbeat) != 2 { // two links are probed once more
		t.Errorf("muted %v after a confirmation, %d heartbeats", s.m.blind.muted, s.count(wire.Heartbeat))
	}
	s.hear(5, v(7, 1), wire.Message{Kind: wire.Heartbeat})
	s.pass(s.m.cfg.Heartbeat)
	if n := s.m.stats.Filed; n != 5 {
		t.Errorf("%d suspicions, want one more", n)
	}
}

// TestGhost: if a node missed a removal, its neighbours correct its view even if nothing else changes in the
// zone. A node that was removed wrongly comes back (MS-63, MS-A9).
func TestGhost(t *testing.T) {
	spec.Covers(t, "MS-63", "MS-A9")
	w := booted(t, 3, 40, Config{})
	deaf, victim := w.nodes[4], w.nodes[11]
	lost, begin := 0, w.now
	w.lose = func(_, to *node, m *wire.Message) bool {
		// In the first 7 s, the node in the variable deaf also loses each Base: the message by which a new
		// neighbour sends its whole view, with all suspicions.
		early := m.Kind == wire.Base && w.now < begin+7*time.Second
		if to == deaf && (m.Kind == wire.Update || m.Kind == wire.Notice || early) {
			lost++
			return true
		}
		return false
	}
	for _, p := range victim.m.Neighbours(nil) { // deaf must not be a neighbour of the victim, so that it learns of the removal from others only
		if w.nodeOf(victim, p) == deaf {
			deaf = w.nodes[(deaf.i+1)%len(w.nodes)]
		}
	}
	victim.crash()
	w.until(20*time.Second, w.agree)
	if _, ok := deaf.m.Has(deaf.m.Table().Lookup(victim.id)); ok || lost == 0 || w.wrongly > 0 {
		t.Errorf("%d messages lost, %d removed that live", lost, w.wrongly)
	}
}

// TestBoundedRepair: if the hashes of two neighbours stay different, whatever they send each other, they
// exchange whole views and tables less and less often.
func TestBoundedRepair(t *testing.T) {
	s := newSolo(t, 3, Config{})
	s.link(1, v(7, 1))
	sent := 0
	for range 600 { // 600 steps are ten minutes
		s.hear(1, v(7, 1), wire.Message{Kind: wire.Heartbeat, Hash: 42, Tables: 43})
		sent += s.count(wire.Base) + s.count(wire.AttributeDigest)
		sent += countKind(s.pass(time.Second), wire.Base)
	}
	if sent < 3 || sent > 25 || s.m.stats.Repairs == 0 {
		t.Errorf("%d messages of repair in ten minutes", sent)
	}
}

// TestRestarts: a new incarnation replaces the earlier one even while other nodes still
// consider the earlier one alive, and even if the reset of the earlier one's connection arrives
// later (MS-6, MS-45, MS-A30).
func TestRestarts(t *testing.T) {
	spec.Covers(t, "MS-6", "MS-45", "MS-A30", "MS-A33")
	w := booted(t, 2, 12, Config{})
	n := w.nodes[5]
	n.up = false
	n.start() // at once, before any node has noticed that the old process ended
	w.until(5*time.Second, w.agree)
	for _, o := range w.nodes {
		if o.up && o.watched[n.i] {
			o.input(o.incarnation, Input{Kind: Down}, n.id) // the connection reset of the old incarnation arrives late
		}
	}
	w.run(10 * time.Second)
	if !w.agree() || w.wrongly > 0 {
		w.fail("%d removed that live", w.wrongly)
	}
	t.Run("MS-6 a lower incarnation is no life", func(t *testing.T) {
		s := newSolo(t, 2, Config{})
		s.step(Input{Kind: Leave})
		s.step(Input{Kind: Join, Inc: 10})
		if s.m.phase != left || s.m.stats.BadJoins != 1 {
			t.Errorf("state %v", s.m.phase)
		}
		s.step(Input{Kind: Join, Inc: 11}) // a Join with a higher incarnation (MS-A33)
		if s.m.phase != joined || s.m.ver != v(11, 1) {
			t.Errorf("state %v, version %v", s.m.phase, s.m.ver)
		}
	})
}
