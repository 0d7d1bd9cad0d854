package engine

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestParamsRide: all messages of a node's first N cycles carry parameters, and later ones do not
// (GO-9, GO-11, GO-A16). A ping with parameters is answered with parameters in every cycle, also
// after the first N (GO-A5).
func TestParamsRide(t *testing.T) {
	spec.Covers(t, "GO-9", "GO-11", "GO-A5", "GO-A16")
	const n = 6
	h := newHarness(t, n, 0, nil)
	for cycle := 1; cycle <= 2*n; cycle++ {
		h.cycles(1)
		early := cycle <= n
		header, _ := h.sent(false)
		if got := header.Flags&wire.FlagParams != 0; got != early {
			t.Errorf("ping of cycle %d has parameters: %v", cycle, got)
		}
		if early && (header.Interval != interval || header.Digest != h.list.Digest() || header.N != n) {
			t.Errorf("ping of cycle %d: %+v", cycle, header)
		}
		h.ping(3, h.header(), young(n, 3)...)
		if header, _ := h.sent(true); header.Flags&wire.FlagParams != 0 != early {
			t.Errorf("reply of cycle %d: %+v", cycle, header)
		}
		h.ping(3, h.params(h.header()), young(n, 3)...)
		if header, _ := h.sent(true); header.Flags&wire.FlagParams == 0 {
			t.Errorf("cycle %d: a ping with parameters is answered without", cycle)
		}
	}
}

// spoil has functions that change one parameter of a header to a wrong value.
var spoil = map[string]func(*wire.Header){
	"interval": func(h *wire.Header) { h.Interval = 300 * time.Millisecond },
	"digest":   func(h *wire.Header) { h.Digest[7]++ },
	"number":   func(h *wire.Header) { h.N++ },
}

// TestDisagreement: a node merges nothing from a ping or reply with other parameters (GO-10,
// GO-12, GO-30, GO-A4). A node that has heard the same parameters from another participant
// continues, reports the disagreement once, and answers with its parameters (GO-67, GO-A5).
func TestDisagreement(t *testing.T) {
	spec.Covers(t, "GO-10", "GO-12", "GO-30", "GO-67", "GO-A4", "GO-A5")
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, 8, 0, nil)
			h.cycles(1)
			h.ping(3, h.params(h.header()), young(8, 3)...)
			before, clock := bytes.Clone(h.m.ages.Bytes()), h.m.Clock()
			bad := h.params(h.header())
			bad.Clock += 5
			change(&bad)
			var events []Event
			for range 3 {
				h.ping(4, bad, young(8, 4)...)
				events = append(events, h.out.Events...)
				answer, body := h.sent(true)
				want := wire.Header{Flags: wire.FlagParams, N: 8, Interval: interval, Digest: h.list.Digest()}
				if answer != want || len(body) != 0 {
					t.Errorf("answered with %+v, want %+v", answer, want)
				}
				h.reply(4, bad)
				if len(h.sends) != 0 {
					t.Error("a reply was answered")
				}
			}
			if !bytes.Equal(h.m.ages.Bytes(), before) || h.m.Clock() != clock {
				t.Error("something was taken over")
			}
			if h.m.Stats().Disagreements != 6 || !slices.Equal(kinds(events), []EventKind{Disagreed}) || events[0].NID != h.list.NID(4) {
				t.Errorf("counted %d, told %+v", h.m.Stats().Disagreements, events)
			}
		})
	}
}

// TestOtherVersion: a message of another protocol version has a counter of its own, and with Strict
// stops the node, as a message with other parameters does (GO-5, GO-12).
func TestOtherVersion(t *testing.T) {
	spec.Covers(t, "GO-5", "GO-12")
	h := newHarness(t, 8, 0, func(c *Config) { c.Strict = true })
	h.cycles(1)
	data := h.params(h.header()).AppendTo(nil)
	data[0] = 9
	h.now++
	h.step(Input{Kind: Ping, From: h.list.NID(3), Data: append(data, young(8, 3)...)})
	if s := h.m.Stats(); !h.m.Stopped() || s.OtherVersion != 1 || s.Disagreements != 0 {
		t.Errorf("stopped %v (GO-12), counters %+v", h.m.Stopped(), s)
	}
}

// TestStops: with Strict the first participant with other parameters stops a node. Without Strict the
// second one does, if no participant has sent the same parameters as the node (GO-12, GO-A5).
func TestStops(t *testing.T) {
	spec.Covers(t, "GO-12", "GO-A5")
	for _, c := range []struct {
		name   string
		strict bool
		from   []int
		stops  bool
	}{
		{"strict", true, []int{3}, true},
		{"the first met", false, []int{3}, false},
		{"the first met, again", false, []int{3, 3}, false},
		{"two", false, []int{3, 4}, true},
	} {
		h := newHarness(t, 8, 0, func(cfg *Config) { cfg.Strict = c.strict })
		h.cycles(1)
		bad := h.params(h.header())
		bad.Digest[0]++
		var events []Event
		for _, from := range c.from {
			h.ping(from, bad, young(8, from)...)
			events = append(events, h.out.Events...)
		}
		told := slices.Contains(kinds(events), Stopped)
		if h.m.Stopped() != c.stops || told != c.stops {
			t.Errorf("%s: stopped %v, told %v, want %v", c.name, h.m.Stopped(), told, c.stops)
		}
		if !c.stops {
			continue
		}
		h.ping(5, h.params(h.header()), young(8, 5)...)
		if len(h.sends) != 0 || h.m.Step(h.now+time.Hour, Input{}, &h.out) != 1<<63-1 {
			t.Errorf("%s: does not keep still", c.name)
		}
	}
}

// TestStrangers: a message of a node outside the list is counted, and its ages are not merged.
func TestStrangers(t *testing.T) {
	h := newHarness(t, 8, 0, nil)
	h.cycles(1)
	h.ping(3, h.params(h.header()), young(8, 3)...)
	before := bytes.Clone(h.m.ages.Bytes())
	data := append(h.params(h.header()).AppendTo(nil), young(8, 5)...)
	h.step(Input{Kind: Ping, From: nid.MustParse("10.9.9.9@tcp"), Data: data})
	if !bytes.Equal(h.m.ages.Bytes(), before) || h.m.Stats().Strangers != 1 {
		t.Errorf("a stranger was heard: %+v", h.m.Stats())
	}
}

// TestManyDisagree (GO-A5): at most a thousand participants with another list are remembered
// and reported; eight of their pings per cycle are answered with parameters.
func TestManyDisagree(t *testing.T) {
	spec.Covers(t, "GO-A5")
	const n = maxBad + 100
	h := newHarness(t, n, 0, nil)
	h.cycles(1)
	h.ping(1, h.params(h.header()), young(n, 1)...) // a participant has the same parameters as the node, so the node does not stop
	told, answered := 0, 0
	for i := 2; i < n; i++ {
		if i%100 == 0 {
			h.cycles(1)
			answered = 0
		}
		other := h.params(h.header())
		other.Digest[0]++
		h.ping(i, other, young(n, i)...)
		told += len(h.out.Events)
		if answered += len(h.sends); answered > maxAnswers {
			t.Fatalf("%d answers in a cycle, want %d", answered, maxAnswers)
		}
	}
	if s := h.m.Stats(); told != maxBad || len(h.m.params.bad) != maxBad || s.Disagreements != n-2 || answered != maxAnswers {
		t.Errorf("%d told, %d remembered, %d counted, %d answers in the last cycle; want %d, %[5]d, %d, %d",
			told, len(h.m.params.bad), s.Disagreements, answered, maxBad, n-2, maxAnswers)
	}
}
