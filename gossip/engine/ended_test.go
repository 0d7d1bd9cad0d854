package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// long is a number of cycles after which a restarted node has certainly been heard by all others.
const long = 1000

// TestEnded: GO-83: after a death, news of most participants makes it certain. Here 3 and 4 of five
// participants die, one cycle after the other.
func TestEnded(t *testing.T) {
	spec.Covers(t, "GO-83")
	h := newHarness(t, 5, 0, nil)
	h.step(Input{})
	h.ping(1, h.header(), 1, 0, 1, 1, 2)
	dead := h.m.Limits().Dead
	if h.cycles(dead - 3); h.m.AliveCount() != 5 || h.m.Ended(4, long) {
		t.Fatalf("%d are alive", h.m.AliveCount())
	}
	old := byte(dead + 20)
	hear := func(from ...int) {
		for _, id := range from {
			ages := []byte{0, old, old, old, old}
			ages[0], ages[id] = 1, 0
			h.ping(id, h.header(), ages...)
		}
	}
	hear(1, 2) // before the deaths
	for h.m.Participant(3).Health == Alive || h.m.Participant(4).Health == Alive {
		h.cycles(1)
	}
	if h.m.AliveCount() != 3 || h.m.Ended(3, long) || h.m.Ended(4, long) {
		t.Errorf("%d are alive; ended: %v, %v", h.m.AliveCount(), h.m.Ended(3, long), h.m.Ended(4, long))
	}
	h.cycles(2)
	hear(1)
	if h.m.Ended(3, long) || h.m.Ended(4, long) {
		t.Error("this node and one more of five are enough")
	}
	hear(2)
	if !h.m.Ended(3, long) || !h.m.Ended(4, long) || h.m.Ended(0, long) || h.m.Ended(1, long) {
		t.Errorf("ended: %v, %v, %v, %v", h.m.Ended(3, long), h.m.Ended(4, long), h.m.Ended(0, long), h.m.Ended(1, long))
	}
	h.ping(1, h.header(), 1, 0, 1, 2, old)
	if h.m.Ended(3, long) || !h.m.Ended(4, long) {
		t.Errorf("3 is alive again: ended: %v, %v", h.m.Ended(3, long), h.m.Ended(4, long))
	}
}

// TestEndedMinority: GO-83: this node and 1 of five participants are cut off. Gossip still has its quorum when it
// reports the first two deaths, but no death becomes certain.
func TestEndedMinority(t *testing.T) {
	spec.Covers(t, "GO-83")
	h := newHarness(t, 5, 0, nil)
	h.ping(1, h.header(), 1, 0, 1, 4, 7)
	quorum := 0
	for range 3 * h.m.Limits().Dead {
		h.cycles(1)
		h.ping(1, h.header(), 1, 0, 250, 250, 250)
		if h.m.Quorum() && h.m.AliveCount() < 5 {
			quorum++
		}
		for i := range 5 {
			if h.m.Ended(i, long) {
				t.Fatalf("cycle %d: %d has ended, %d are alive", h.m.Cycle(), i, h.m.AliveCount())
			}
		}
	}
	if quorum == 0 || h.m.AliveCount() != 2 {
		t.Errorf("%d cycles with a quorum and deaths; %d are alive", quorum, h.m.AliveCount())
	}
}

// TestEndedUncertain: GO-83: a participant has ended only if there is news since its death of more than Config.Quorum
// percent of all participants, and of more than half of them even if Config.Quorum is lower. A participant that has
// never been alive has not ended. No participant has ended as long as this node is unsure after a pause of its own
// (Unsure), or if it has the ages of only some participants (Config.Columns).
func TestEndedUncertain(t *testing.T) {
	spec.Covers(t, "GO-83")
	for _, tt := range []struct {
		name   string
		change func(*Config)
		ended  bool
	}{
		{"the default", nil, true},
		{"a higher quorum", func(c *Config) { c.Quorum = 60 }, false},
		{"some of all", func(c *Config) { c.Columns = 4 }, false},
	} {
		h := newHarness(t, 5, 0, tt.change)
		n := h.m.ages.n
		h.ping(1, h.header(), young(5, 1)[:n]...)
		h.cycles(1)
		h.set([]byte{0, 1, 1, 250, 250}[:n]...)
		h.cycles(2)
		h.set(0, 1, 1) // news since the deaths
		if h.m.health.died[3] != 1 || h.m.Ended(3, long) != tt.ended {
			t.Errorf("%s: %d deaths, ended %v", tt.name, h.m.health.died[3], h.m.Ended(3, long))
		}
	}
	h := newHarness(t, 5, 0, func(c *Config) { c.Quorum = 10 })
	h.ping(1, h.header(), young(5, 1)...)
	h.cycles(1)
	h.set(0, 1, 250, 250, 250)
	h.cycles(2)
	if h.set(0, 1); h.m.health.died[3] != 1 || h.m.Ended(3, long) {
		t.Errorf("two of five: %d deaths, ended %v", h.m.health.died[3], h.m.Ended(3, long))
	}
	h = newHarness(t, 5, 0, nil)
	h.set(0, 1, 1, 1, unheard)
	h.cycles(2)
	if h.set(0, 1, 1, 1); h.m.AliveCount() != 4 || h.m.Ended(4, long) {
		t.Errorf("%d alive; one that was never alive has ended: %v", h.m.AliveCount(), h.m.Ended(4, long))
	}
	h.set(0, 1, 1, 250, unheard)
	h.cycles(2)
	if h.set(0, 1, 1); !h.m.Ended(3, long) {
		t.Error("3 has not ended")
	}
	if h.m.pause.resync = true; h.m.Ended(3, long) {
		t.Error("an unsure node is certain")
	}
}

// TestEndedEarlier: GO-83: the caller knows that a node ran after the latest news of its participant. The participant
// has ended only if so much time has passed since then that the node, even if it restarted, would have been heard.
func TestEndedEarlier(t *testing.T) {
	spec.Covers(t, "GO-83")
	h := newHarness(t, 5, 0, nil)
	h.ping(1, h.header(), young(5, 1)...)
	h.cycles(1)
	old := h.m.Limits().Dead + 10
	h.set(0, 1, 1, 1, byte(old))
	h.cycles(2)
	l := h.m.Limits()
	for _, tt := range []struct {
		age   byte
		ran   int
		ended bool
	}{
		{byte(old), 0, false},
		{byte(old), old, false}, // it may have run just after the news
		{byte(old), old + 1, true},
		{oldest, l.Stealth + l.Dead, false},
		{oldest, l.Stealth + l.Dead + 1, true},
		{oldest, long, true},
		{byte(l.Dead), long, false}, // its age was higher when its death was reported; others have taken it for alive until now
		{byte(l.Dead) + 1, long, false},
		{byte(l.Dead) + 2, long, true},
	} {
		h.set(0, 1, 1, 1, tt.age)
		if got := h.m.Ended(4, tt.ran); got != tt.ended {
			t.Errorf("news of %d cycles ago, ran %d cycles ago: ended %v", tt.age, tt.ran, got)
		}
	}
}

// TestEndedForgotten: GO-83: after a pause this node has forgotten all ages. It is cut off, together with node 1,
// from nodes 2, 3 and 4, after news of 2 came. It reports the deaths of 3 and 4, of which it has had no news since
// the pause. The age of 2 is still low, but that news is older than the two deaths, so it does not make them certain.
func TestEndedForgotten(t *testing.T) {
	spec.Covers(t, "GO-83")
	h := newHarness(t, 5, 0, nil)
	h.ping(1, h.header(), young(5, 1)...)
	h.cycles(1)
	dead := h.m.Limits().Dead
	h.now += time.Duration(2*dead) * interval
	h.step(Input{})
	for range 3 * dead {
		h.cycles(1)
		h.ping(1, h.header(), 1, 0, oldest, unheard, unheard)
		if h.m.pause.resync && h.m.pause.cycles < dead-4 {
			h.ping(2, h.header(), 1, 1, 0, unheard, unheard)
		}
		if h.m.Ended(3, long) || h.m.Ended(4, long) {
			t.Fatalf("cycle %d: ended, ages %v", h.m.Cycle(), h.m.ages.Bytes())
		}
	}
	if p := h.m.Participant(3); h.m.Unsure() || p.Health != Dead || p.Aliveness != 1 || p.Age != unheard {
		t.Fatalf("unsure %v, %+v", h.m.Unsure(), p)
	}
	hear := func() {
		h.cycles(2)
		h.ping(1, h.header(), 1, 0, 1, unheard, unheard)
	}
	if hear(); !h.m.Ended(3, long) {
		t.Errorf("there is news of most participants since the death; ages %v", h.m.ages.Bytes())
	}
	h.now += time.Duration(2*dead) * interval
	h.step(Input{})
	for h.m.Unsure() {
		h.cycles(1)
		h.ping(1, h.header(), 1, 0, 1, unheard, unheard)
	}
	if h.m.Ended(3, long) {
		t.Error("what this node has known of 3 before the pause is enough")
	}
	if hear(); !h.m.Ended(3, long) {
		t.Error("a death before a pause never ends")
	}
}

// TestEndedListed: GO-83, GO-A21: a live participant that is taken off the list, and put on it again, has not ended,
// although its removal was reported as a death. The death of a participant that stays on the list is certain once there
// is news since the change.
func TestEndedListed(t *testing.T) {
	spec.Covers(t, "GO-83", "GO-A21")
	h := newHarness(t, 8, 2, nil)
	h.meet(12)
	whole, less := h.list, newListOf(t, 0, 7)
	h.m.ages.bytes[6], h.m.health.changed = byte(h.m.Limits().Dead), true
	h.cycles(1)
	if h.m.Participant(6).Health != Dead {
		t.Fatal("6 is alive")
	}
	change := func(to *List, with ...int) {
		h.stage(to)
		h.step(Input{Kind: Commit})
		if h.m.Ended(6, long) {
			t.Error("6 has ended by the news before the change")
		}
		for range h.m.Limits().Dead + 2 { // go on until the change of the list has ended
			h.cycles(1)
			for _, i := range with {
				ages := make([]byte, to.Len())
				for k := range ages {
					ages[k] = unheard
				}
				ages[i] = 0
				h.step(Input{Kind: Ping, From: to.NID(i), Data: append(h.in(to, true).AppendTo(nil), ages...)})
			}
		}
		if s := h.m.RollStatus(); s.Committed || s.N != to.Len() {
			t.Fatalf("the change does not end: %+v", s)
		}
	}
	change(less, 0, 1, 3, 4, 5)
	if !h.m.Ended(6, long) {
		t.Error("6 has not ended")
	}
	change(whole, 0, 1, 3, 4, 5)
	if p := h.m.Participant(7); p.Aliveness != 1 || p.Health != Unknown && p.Health != Dead || h.m.Ended(7, long) {
		t.Errorf("7 has ended: %v; %+v", h.m.Ended(7, long), p)
	}
	if !h.m.Ended(6, long) {
		t.Error("6 has not ended")
	}
}
