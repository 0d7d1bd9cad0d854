package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// long is more cycles than a restarted node takes to be heard everywhere.
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

// TestEndedUncertain: GO-83: a quorum of more than half is asked for, but not less than half. A participant that has
// never been alive has not ended, nor has any while the node is unsure or tracks only some participants.
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
		h.cycles(1)
		if h.m.health.died[3] != 1 || h.m.Ended(3, long) != tt.ended {
			t.Errorf("%s: %d deaths, ended %v", tt.name, h.m.health.died[3], h.m.Ended(3, long))
		}
	}
	h := newHarness(t, 5, 0, func(c *Config) { c.Quorum = 10 })
	h.ping(1, h.header(), young(5, 1)...)
	h.cycles(1)
	h.set(0, 1, 250, 250, 250)
	if h.cycles(1); h.m.health.died[3] != 1 || h.m.Ended(3, long) {
		t.Errorf("two of five: %d deaths, ended %v", h.m.health.died[3], h.m.Ended(3, long))
	}
	h = newHarness(t, 5, 0, nil)
	h.set(0, 1, 1, 1, unheard)
	if h.cycles(1); h.m.AliveCount() != 4 || h.m.Ended(4, long) {
		t.Errorf("%d alive; one that was never alive has ended: %v", h.m.AliveCount(), h.m.Ended(4, long))
	}
	h.set(0, 1, 1, 250, unheard)
	h.cycles(1)
	if !h.m.Ended(3, long) {
		t.Error("3 has not ended")
	}
	if h.m.pause.resync = true; h.m.Ended(3, long) {
		t.Error("an unsure node is certain")
	}
}

// TestEndedEarlier: GO-83: a node that ran after the latest news of its participant has not ended, until it should
// have been heard.
func TestEndedEarlier(t *testing.T) {
	spec.Covers(t, "GO-83")
	h := newHarness(t, 5, 0, nil)
	h.ping(1, h.header(), young(5, 1)...)
	h.cycles(1)
	old := h.m.Limits().Dead + 10
	h.set(0, 1, 1, 1, byte(old))
	h.cycles(1)
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
	} {
		h.set(0, 1, 1, 1, tt.age)
		if got := h.m.Ended(4, tt.ran); got != tt.ended {
			t.Errorf("news of %d cycles ago, ran %d cycles ago: ended %v", tt.age, tt.ran, got)
		}
	}
}
