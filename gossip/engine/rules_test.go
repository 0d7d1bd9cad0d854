package engine

import (
	"bytes"
	"slices"
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestClock: the Lamport clock begins at zero (GO-13) and ticks before each ping (GO-14). A
// message whose clock is not behind sets it to one more than the message's clock (GO-15).
func TestClock(t *testing.T) {
	spec.Covers(t, "GO-13", "GO-14", "GO-15")
	h := newHarness(t, 8, 0, nil)
	if c := h.m.Clock(); c != 0 {
		t.Fatalf("begins at %d (GO-13)", c)
	}
	h.cycles(1)
	if header, _ := h.sent(false); header.Clock != 1 {
		t.Errorf("the first ping carries %d, want 1 (GO-14)", header.Clock)
	}
	for _, c := range []struct {
		name         string
		local, other uint64
		want         uint64
	}{
		{"equal", 7, 7, 8}, {"one behind", 7, 6, 7}, {"ahead", 7, 12, 13},
	} {
		h.m.clock.value = c.local
		header := h.header()
		header.Clock = c.other
		h.ping(3, header, young(8, 3)...)
		if got := h.m.Clock(); got != c.want {
			t.Errorf("%s: %d hears %d: %d, want %d (GO-15)", c.name, c.local, c.other, got, c.want)
		}
	}
}

// TestFigure replays the exchange in the design's figure (GO-27, GO-23, GO-25, GO-26), with
// indexes from 0 (GO-A13): participant 2 with ages 7 8 0 2 pings participant 0.
func TestFigure(t *testing.T) {
	spec.Covers(t, "GO-23", "GO-25", "GO-26", "GO-27", "GO-29", "GO-A13")
	h := newHarness(t, 4, 0, func(c *Config) { c.Fudge = -1 })
	h.cycles(2)
	h.set(0, 4, 5, 9)
	h.ping(2, h.params(h.header()), 7, 8, 0, 2)
	if want := []byte{0, 4, 1, 3}; !bytes.Equal(h.m.ages.Bytes(), want) {
		t.Errorf("participant 0 has %v, want %v", h.m.ages.Bytes(), want)
	}
	header, body := h.sent(true)
	e, err := wire.ParseEntries(header.Flags, body, 4)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]byte{}
	e.Each(func(i int, age byte) { got[i] = age })
	if len(got) != 2 || got[0] != 0 || got[1] != 4 {
		t.Errorf("the reply has %v, want entries 0 and 1", got)
	}

	p := newHarness(t, 4, 2, func(c *Config) { c.Fudge = -1 })
	p.cycles(2)
	p.set(7, 8, 0, 2)
	p.reply(0, header, body...)
	if want := []byte{1, 5, 0, 2}; !bytes.Equal(p.m.ages.Bytes(), want) {
		t.Errorf("participant 2 has %v, want %v", p.m.ages.Bytes(), want)
	}
	if len(p.sends) != 0 {
		t.Error("a reply was answered (GO-29)")
	}
}

// TestHopAges: an age that a ping or reply brings is merged with one cycle added for the hop,
// up to 254. Without that cycle the age of a dead participant would never reach the limit
// (GO-A2).
func TestHopAges(t *testing.T) {
	spec.Covers(t, "GO-A2")
	h := newHarness(t, 4, 0, nil)
	h.cycles(1)
	h.ping(1, h.header(), 9, 0, 5, 254)
	if want := []byte{0, 1, 6, 254}; !bytes.Equal(h.m.ages.Bytes(), want) {
		t.Errorf("got %v, want %v", h.m.ages.Bytes(), want)
	}
	body := []byte{0b1000, 2}
	header := h.header()
	header.Flags = wire.FlagBitmap
	h.reply(1, header, body...)
	if want := []byte{0, 1, 6, 3}; !bytes.Equal(h.m.ages.Bytes(), want) {
		t.Errorf("by a reply: got %v, want %v", h.m.ages.Bytes(), want)
	}
}

// TestFreshNodeKnowsNoOther: the first ping of a node says that it has never heard of any other
// participant, so it does not make a dead participant appear alive (GO-A6).
func TestFreshNodeKnowsNoOther(t *testing.T) {
	spec.Covers(t, "GO-A6")
	h := newHarness(t, 8, 3, nil)
	h.cycles(1)
	_, body := h.sent(false)
	want := bytes.Repeat([]byte{unheard}, 8)
	want[3] = 0
	if !bytes.Equal(body, want) {
		t.Errorf("the first ping says %v, want %v", body, want)
	}
	old := newHarness(t, 8, 0, nil)
	old.cycles(1)
	old.set(0, 255, 255, 255, 255, 100)
	old.ping(3, old.header(), body...)
	if got := old.m.ages.bytes[5]; got != 100 {
		t.Errorf("an age of 100 became %d by a node that never heard", got)
	}
}

// TestPartners: one ping a cycle, to each other participant with the same probability,
// dead ones included (GO-22, GO-39).
func TestPartners(t *testing.T) {
	spec.Covers(t, "GO-22", "GO-39")
	const n, draws = 9, 90000
	h := newHarness(t, n, 4, nil)
	counts := make([]float64, n)
	for range draws {
		h.cycles(1)
		if len(h.sends) != 1 {
			t.Fatalf("%d messages in a cycle", len(h.sends))
		}
		counts[h.list.Index(h.sends[0].To)]++
	}
	if counts[4] != 0 {
		t.Error("pinged itself")
	}
	expected, chi2 := float64(draws)/(n-1), 0.0
	for i, c := range counts {
		if i != 4 {
			chi2 += (c - expected) * (c - expected) / expected
		}
	}
	if chi2 > 24.3 { // χ² test with 7 degrees of freedom: even draws exceed 24.3 with a probability of 0.1 %
		t.Errorf("χ² of %v is %.1f", counts, chi2)
	}
	if slices.Contains(counts[:4], 0) {
		t.Error("a dead participant was never pinged")
	}
}

// TestReplyFits: a reply fits one LNet message, however many entries the peer lacks.
func TestReplyFits(t *testing.T) {
	const n = 1_000_000
	h := newHarness(t, n, 0, nil)
	h.cycles(1)
	h.set(young(n, 0)...)
	ages := bytes.Repeat([]byte{unheard}, n)
	ages[3] = 0
	h.ping(3, h.params(h.header()), ages...)
	header, body := h.sent(true)
	if _, err := wire.ParseEntries(header.Flags, body, n); err != nil || h.sends[0].End-h.sends[0].Begin > 1<<20 {
		t.Errorf("%d bytes: %v", h.sends[0].End-h.sends[0].Begin, err)
	}
}

// TestDeathIsNotHidden: a participant becomes too old in the cycle that is due, and is heard in
// the same step. The machine reports both the death and the return (GO-73, GO-76).
func TestDeathIsNotHidden(t *testing.T) {
	spec.Covers(t, "GO-62", "GO-73", "GO-76")
	h := newHarness(t, 8, 0, nil)
	h.cycles(1)
	h.ping(3, h.params(h.header()), young(8, 3)...)
	h.set(0, 1, 1, byte(h.m.Limits().Dead))
	h.step(Input{})
	h.now = h.wake
	h.ping(3, h.params(h.header()), young(8, 3)...)
	e := h.out.Events
	if len(e) != 2 || e[0].Kind != Died || e[1].Kind != CameAlive || e[1].NID != h.list.NID(3) || e[1].Aliveness != 1 {
		t.Fatalf("told %+v", e)
	}
	if e[0].Message != false || !e[1].Message || e[1].Header != h.m.Clock()-1 {
		t.Errorf("caused by messages: %+v (GO-62)", e)
	}
}
