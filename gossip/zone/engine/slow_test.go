package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
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

// TestLateReconnects: for a while after a node was slow, it suspects no member. If the process of a member is
// gone, the node asks that member for a link again only after a back-off, however fast the requests fail
// (MS-A2, MS-A29, MS-A30).
func TestLateReconnects(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A29", "MS-A30")
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	s.step(Input{Kind: Delivered, At: s.now - 600*time.Millisecond, Message: &wire.Message{Kind: wire.Heartbeat, From: s.ref[1], Version: v(7, 1)}})
	s.step(Input{Kind: Failed, Node: s.ref[2], Local: true})
	s.step(Input{Kind: Down, Node: s.ref[2]})
	s.step(Input{Kind: Failed, Node: s.ref[2]})
	if l := s.m.links.get(s.ref[2]); l.state != connecting || s.count(wire.LinkRequest) != 1 {
		t.Fatalf("the link is %v, %d requests", l.state, s.count(wire.LinkRequest))
	}
	requests := 0
	for range 100 {
		s.step(Input{Kind: Failed, Node: s.ref[2]})
		requests += s.count(wire.LinkRequest)
	}
	if requests > 0 {
		t.Errorf("%d more requests at once", requests)
	}
	for _, sent := range s.pass(s.m.cfg.Heartbeat) {
		if sent.To == s.ref[2] && sent.Message.Kind == wire.LinkRequest {
			requests++
		}
	}
	if requests != 1 || s.m.stats.Filed > 0 {
		t.Errorf("%d requests in a heartbeat, %d suspicions", requests, s.m.stats.Filed)
	}
}

// TestLateBackoff: a node that was slow asks a member for a link again within a timeout, also if many earlier
// requests have failed (MS-A2, MS-A29).
func TestLateBackoff(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A29")
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	s.step(Input{Kind: Delivered, At: s.now - 600*time.Millisecond, Message: &wire.Message{Kind: wire.Heartbeat, From: s.ref[1], Version: v(7, 1)}})
	s.step(Input{Kind: Failed, Node: s.ref[2], Local: true})
	s.step(Input{Kind: Down, Node: s.ref[2]})
	s.step(Input{Kind: Failed, Node: s.ref[2]})
	l := s.m.links.get(s.ref[2])
	l.backoff = maxBackoff // as after many failures
	s.step(Input{Kind: Failed, Node: s.ref[2]})
	if l = s.m.links.get(s.ref[2]); l.state != retrying || l.due > s.now+s.m.cfg.Timeout {
		t.Errorf("the link is %v, and asked for again after %v", l.state, l.due-s.now)
	}
}
