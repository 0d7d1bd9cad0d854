package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestBase: a new neighbour gets everything, other neighbours only changes (MS-53, MS-54,
// MS-55, MS-56).
func TestBase(t *testing.T) {
	spec.Covers(t, "MS-53", "MS-54", "MS-55", "MS-56")
	s := newSolo(t, 10, Config{Threshold: 3, Successors: 3})
	for i := 2; i < 6; i++ {
		s.alive(i, v(7, 1))
	}
	s.suspicion(3, 2, v(7, 1))
	s.hear(6, v(4, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Successor})
	base := s.out.Sends[1].Message
	members, _, _ := base.Lists.View.Size()
	if s.out.Sends[0].Message.Kind != wire.LinkAccept || base.Kind != wire.Base || members != 6 ||
		len(base.Lists.Suspicions) != 1 || base.Lists.Suspicions[0] != (wire.Suspicion{Reporter: s.ref[3], Suspect: s.ref[2], Version: v(7, 1)}) {
		t.Fatalf("sent %+v", s.out.Sends)
	}
	s.hear(6, v(4, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Successor}) // the request is repeated because the answer was lost
	if s.count(wire.LinkAccept) != 1 || s.count(wire.Base) != 0 {
		t.Errorf("the second time: %+v", s.out.Sends)
	}
	s.pass(time.Second)

	// MS-56: Δ is sent τ after the first change, together with later ones. It is sent τ/8 after a goodbye or a report,
	// which the member that it is about must hear in time to refute it.
	changed := func(first int, then func()) (update *wire.Message, took time.Duration) {
		begin := s.now
		s.alive(first, v(7, 1))
		s.now += 120 * time.Millisecond
		then()
		for update == nil && s.now < begin+time.Second {
			s.now += time.Millisecond
			s.step(Input{})
			for i := range s.out.Sends {
				if s.out.Sends[i].Message.Kind == wire.Update {
					update = &s.out.Sends[i].Message
				}
			}
		}
		return update, s.now - begin
	}
	update, took := changed(7, func() { s.alive(8, v(7, 1)) })
	if took != s.m.cfg.Aggregation || update == nil || len(update.Lists.Alive) != 2 {
		t.Fatalf("sent %+v after %v", update, took)
	}
	update, took = changed(9, func() {
		s.leave(5, v(7, 1), 3)
		s.suspicion(4, 2, v(7, 1))
		s.delta(1, 1, 1)
	})
	if want := 120*time.Millisecond + s.m.cfg.Aggregation/urgentParts; took != want || update == nil {
		t.Fatalf("sent after %v, want %v", took, want)
	}
	if l := update.Lists; len(l.Alive) != 1 || len(l.Leaves) != 1 || len(l.Suspicions) != 1 || l.Leaves[0].Code != 3 || l.View != nil {
		t.Errorf("update %+v", l)
	}
	s.delta(0, 0, 0)
	if n := countKind(s.pass(time.Second), wire.Update); n > 0 {
		t.Errorf("%d more updates", n)
	}
}

// TestIdle: a zone at rest sends only heartbeats (MS-30, MS-58, MS-77).
func TestIdle(t *testing.T) {
	spec.Covers(t, "MS-30", "MS-58", "MS-77", "G-MS-5")
	w := booted(t, 1, 32, Config{})
	w.nodes[3].step(Input{Kind: Set, Key: "k", Value: []byte("v")})
	w.run(10 * time.Second)
	w.bytes, w.messages = [wire.Kinds]int{}, [wire.Kinds]int{}
	w.run(time.Minute)
	for k, n := range w.messages {
		if wire.Kind(k) != wire.Heartbeat && n > 0 {
			t.Errorf("%d of %v", n, wire.Kind(k))
		}
	}
	if mean := float64(w.messages[wire.Heartbeat]) / 32 / 60; mean < 8 || mean > 11 {
		t.Errorf("%.1f heartbeats in a second", mean)
	}
	if size := w.bytes[wire.Heartbeat] / w.messages[wire.Heartbeat]; size > 64 { // the bound of G-MS-5, in bytes
		t.Errorf("heartbeats of %d bytes", size)
	}
}

// TestNotices: when a member dies, each neighbour that suspects it notifies the monitors at once, and only once. To
// remove a member, a monitor needs as many reports as any other node (MS-59 to MS-62, MS-A32).
func TestNotices(t *testing.T) {
	spec.Covers(t, "MS-59", "MS-60", "MS-61", "MS-62", "MS-A32", "G-MS-3")
	for _, theta := range []int{1, 2} {
		w := booted(t, 1, 40, Config{Threshold: theta})
		monitor, victim := w.nodes[5], w.nodes[20]
		monitor.step(Input{Kind: Set, Key: MonitorKey, Value: []byte("1")})
		w.run(3 * time.Second)
		for _, n := range w.nodes {
			if m := n.m.attributes.monitors; n != monitor && len(m) != 1 { // every other node knows the monitor (MS-59)
				t.Fatalf("%v knows the monitors %v", n.id, m)
			}
		}
		degree := len(victim.m.Neighbours(nil))
		notices, detected := 0, time.Duration(0)
		w.tap = func(_, to *node, s *Send, m *wire.Message, _ int) {
			if m.Kind == wire.Notice {
				if notices++; to != monitor || !s.Priority {
					t.Errorf("a notice to %v, priority %v", to.id, s.Priority)
				}
			}
		}
		begin := w.now
		w.told = func(n *node, e *Event) {
			if n == monitor && e.Kind == Left {
				detected = w.now - begin
			}
		}
		victim.kill()
		w.run(5 * time.Second)
		if detected == 0 || detected > 3*2*w.latency { // the monitor knows after three round trips at most (G-MS-3), long before τ (MS-60)
			t.Errorf("Θ=%d: the monitor knows after %v", theta, detected)
		}
		if notices > degree || notices < theta { // bounds of the number of notices (MS-62)
			t.Errorf("%d notices of %d neighbours", notices, degree)
		}
	}
	t.Run("MS-61 one is not enough", func(t *testing.T) {
		s := newSolo(t, 9, Config{})
		for i := 1; i < 9; i++ {
			s.alive(i, v(7, 1))
		}
		for by := 3; by <= 4; by++ {
			s.is(2, inView, v(7, 1))
			s.hear(by, v(7, 1), wire.Message{Kind: wire.Notice, Lists: &wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[by], Suspect: s.ref[2], Version: v(7, 1)}}}})
		}
		s.is(2, inHistory, v(7, 1))
		s.delta(8, 0, 2) // the next update passes these suspicions on, as it does those from any other node
	})
}

// TestSilence: a node that becomes silent is suspected and reported when the heartbeat timeout
// has passed (MS-32, MS-A14).
func TestSilence(t *testing.T) {
	spec.Covers(t, "MS-32", "MS-A14")
	w := booted(t, 1, 24, Config{})
	monitor, victim := w.nodes[5], w.nodes[20]
	monitor.step(Input{Kind: Set, Key: MonitorKey})
	var last, detected time.Duration
	w.tap = func(from, _ *node, _ *Send, m *wire.Message, _ int) {
		if from == victim {
			last = w.now
		}
	}
	w.told = func(n *node, e *Event) {
		if n == monitor && (e.Kind == Doubted || e.Kind == Left) && e.ID == victim.id && detected == 0 {
			detected = w.now
		}
	}
	w.run(3 * time.Second)
	victim.crash()
	w.run(6 * time.Second)
	timeout := victim.m.cfg.Timeout
	if took := detected - last; took < timeout || took > timeout+5*time.Millisecond {
		t.Errorf("the monitor knows %v after the last heartbeat", took)
	}
}

// TestPageSharing: machines that use one table of ids (NewTable) keep equal pages of their views in memory only once.
// When a zone is at rest all views are equal, so all machines use the same pages, no matter by which messages each
// machine has learned its view.
func TestPageSharing(t *testing.T) {
	w := newWorld(t, 1, 200, Config{}).share().boot()
	w.until(10*time.Second, w.agree)
	w.run(5 * time.Second)
	pages := map[*page]bool{}
	for _, n := range w.nodes {
		for _, p := range n.m.view.pages {
			pages[p] = true
		}
	}
	if most := 200/pageSize + 1; len(pages) > most {
		t.Errorf("%d pages for 200 nodes, want %d", len(pages), most)
	}
	w.nodes[0].kill()
	w.until(10*time.Second, w.agree)
	if w.wrongly > 0 {
		t.Error("a page was written that others have")
	}
}
