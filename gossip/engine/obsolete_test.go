package engine

import (
	"bytes"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestObsolete: a message whose clock is behind by more than the limit is not merged. An
// obsolete ping is answered with the clock alone, an obsolete reply not at all (GO-31 to
// GO-35), and this check comes before the comparison of clocks (GO-A4).
func TestObsolete(t *testing.T) {
	spec.Covers(t, "GO-31", "GO-32", "GO-33", "GO-34", "GO-35", "GO-A4")
	for _, c := range []struct {
		name   string
		strict bool
		limit  uint64
	}{{"default", false, 40}, {"strict", true, 3}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, 8, 0, func(cfg *Config) { cfg.Strict = c.strict })
			h.cycles(9) // after the first N = 8 cycles, messages carry no parameters
			h.m.clock.value = 1000
			before := bytes.Clone(h.m.ages.Bytes())
			header := h.header()

			header.Clock = 1000 - c.limit - 1
			h.ping(3, header, young(8, 3)...)
			if !bytes.Equal(h.m.ages.Bytes(), before) || h.m.Stats().Obsolete != 1 {
				t.Errorf("an obsolete ping was merged: %v", h.m.ages.Bytes())
			}
			answer, body := h.sent(true)
			if answer.Clock != 1000 || len(body) != 0 || answer.Flags != 0 {
				t.Errorf("answered with %+v and %d bytes, want the clock alone (GO-32)", answer, len(body))
			}
			h.reply(3, header)
			if len(h.sends) != 0 || h.m.Stats().Obsolete != 2 || !bytes.Equal(h.m.ages.Bytes(), before) {
				t.Error("an obsolete reply had consequences (GO-34)")
			}

			header.Clock = 1000 - c.limit
			h.ping(3, header, young(8, 3)...)
			if h.m.ages.Bytes()[3] != 1 {
				t.Error("a ping at the limit was dropped (GO-35)")
			}
		})
	}
}

// TestReplayed: a message that is repeated after twice the time that it takes to declare a
// silent participant dead is never merged (GO-31).
func TestReplayed(t *testing.T) {
	spec.Covers(t, "GO-31")
	h := newHarness(t, 16, 0, nil)
	h.cycles(1)
	header := h.params(h.header())
	for i := range 2 * h.m.Limits().Dead {
		h.cycles(1)
		late := h.header()
		h.ping(1+i%3, h.params(late), young(16, 1+i%3)...) // meanwhile the cluster goes on, and its clock advances
	}
	h.set(append([]byte{0}, bytes.Repeat([]byte{200}, 15)...)...)
	h.ping(7, header, young(16, 7)...)
	if h.m.ages.Bytes()[7] != 200 || h.m.Stats().Obsolete != 1 {
		t.Errorf("merged: age %d, counters %+v", h.m.ages.Bytes()[7], h.m.Stats())
	}
}

// TestBadClock: a message with a clock of maxClock or more, or too far ahead of a node in sync,
// does not move the node's clock (GO-A10, GO-66).
func TestBadClock(t *testing.T) {
	spec.Covers(t, "GO-66", "GO-A10")
	h := newHarness(t, 8, 0, nil)
	h.cycles(1)
	jump := func(clock uint64) {
		t.Helper()
		header := h.params(h.header())
		header.Clock = clock
		h.ping(3, header, young(8, 3)...)
	}
	for i, clock := range []uint64{maxClock, 1 << 62, 1<<64 - 1} {
		if jump(clock); h.m.Stats().BadClock != uint64(i+1) || h.m.Clock() != 1 {
			t.Errorf("%#x moved the clock to %d", clock, h.m.Clock())
		}
	}
	jump(1_000_000_000) // a newcomer takes the clock of an old cluster
	if h.m.Clock() != 1_000_000_001 {
		t.Errorf("a newcomer has clock %d", h.m.Clock())
	}
	for _, peer := range []int{3, 4} { // two peers are in sync with this node
		h.ping(peer, h.params(h.header()), young(8, peer)...)
	}
	before := h.m.Clock()
	jump(before + maxJump + 1)
	if h.m.Stats().BadClock != 4 || h.m.Clock() != before {
		t.Errorf("a jump from %d to %d was believed", before, h.m.Clock())
	}
}

// TestClusterComesTogether: after a long partition the parts of a cluster have clocks that are
// far apart. A node accepts the other part's clock when two peers claim it (GO-66).
func TestClusterComesTogether(t *testing.T) {
	spec.Covers(t, "GO-66")
	h := newHarness(t, 8, 0, nil)
	h.meet(20)
	far := h.params(h.header())
	far.Clock += 3 * maxJump
	for range 3 {
		h.ping(5, far, young(8, 5)...)
	}
	if h.m.Stats().BadClock != 3 || h.m.Clock() > far.Clock {
		t.Fatalf("one peer was believed: clock %d, counters %+v", h.m.Clock(), h.m.Stats())
	}
	far.Clock += 7
	h.ping(6, far, young(8, 6)...)
	if h.m.Clock() > far.Clock {
		t.Fatal("two pings at the same time were believed")
	}
	h.cycles(2)
	far.Clock += 10
	h.ping(6, far, young(8, 6)...)
	if h.m.Clock() != far.Clock+1 || h.m.AliveCount() != 8 {
		t.Errorf("clock %d, want %d; %d alive", h.m.Clock(), far.Clock+1, h.m.AliveCount())
	}
}

// TestTwoParticipants: with two participants the only other one is enough to be in sync
// (GO-A10).
func TestTwoParticipants(t *testing.T) {
	spec.Covers(t, "GO-A10")
	h := newHarness(t, 2, 0, nil)
	h.meet(3)
	before := h.m.Clock()
	far := h.params(h.header())
	far.Clock += maxJump + 1
	h.ping(1, far, 1, 0)
	if h.m.Stats().BadClock != 1 || h.m.Clock() != before {
		t.Errorf("a jump from %d to %d was believed", before, h.m.Clock())
	}
	h.cycles(h.m.Limits().Dead + 1) // run until the other participant is dead
	far.Clock += 100
	h.ping(1, far, 1, 0)
	if h.m.Clock() != far.Clock+1 {
		t.Errorf("clock %d after a day alone, want %d", h.m.Clock(), far.Clock+1)
	}
}
