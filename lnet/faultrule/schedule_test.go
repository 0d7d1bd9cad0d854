package faultrule

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// hitsOf returns the numbers of the messages that a rule hits.
func hitsOf(t *testing.T, a Attr, seed uint64, messages int, at func(i int) time.Duration) (hits []int) {
	t.Helper()
	s := newSet(t, seed, Drop, a)
	for i := range messages {
		if s.Arrives(at(i), header(wire.Put, 1), there) {
			hits = append(hits, i)
		}
	}
	return hits
}

// TestRate: each window of r messages has one hit, and each index of a window gets hits.
func TestRate(t *testing.T) {
	spec.Covers(t, "FR-6")
	const rate, windows = 7, 700
	hits := hitsOf(t, all(rate), 1, rate*windows, func(int) time.Duration { return 0 })
	if len(hits) != windows {
		t.Fatalf("%d hits in %d windows", len(hits), windows)
	}
	var at [rate]int
	for w, i := range hits {
		if i/rate != w {
			t.Fatalf("hit %d is message %d: window %d has none", w, i, w)
		}
		at[i%rate]++
	}
	if slices.Min(at[:]) < windows/rate/2 {
		t.Errorf("hits by index: %v", at)
	}
}

// TestInterval: with ten messages a second, each window has one hit: the first message of
// a random second.
func TestInterval(t *testing.T) {
	spec.Covers(t, "FR-7")
	const interval, windows = 5, 500
	a := Attr{Source: nid.Any(), Dest: nid.Any(), Interval: interval * time.Second}
	hits := hitsOf(t, a, 1, 10*interval*windows, func(i int) time.Duration { return time.Duration(i) * 100 * time.Millisecond })
	if len(hits) != windows {
		t.Fatalf("%d hits in %d windows", len(hits), windows)
	}
	var second [interval]int
	for w, i := range hits {
		if i/10/interval != w || i%10 != 0 {
			t.Fatalf("hit %d is message %d, want the first of a second of its window", w, i)
		}
		second[i/10%interval]++
	}
	if slices.Min(second[:]) < windows/interval/2 {
		t.Errorf("hits by second: %v", second)
	}
}

// TestIntervalAfterSilence: a rule with an interval hits one message per interval. The first message after a silence
// of several intervals is hit, and the next interval is counted from the time of that message.
func TestIntervalAfterSilence(t *testing.T) {
	spec.Covers(t, "FR-7")
	s := newSet(t, 1, Drop, Attr{Source: nid.Any(), Dest: nid.Any(), Interval: 10 * time.Second})
	if !s.Arrives(100*time.Second, header(wire.Put, 1), there) {
		t.Error("the first message passes")
	}
	if n := s.rules[Drop][0].next; n.at < 100*time.Second || n.at >= 110*time.Second || n.ends != 110*time.Second {
		t.Errorf("next window: %+v", n)
	}
}

func TestAllAndRandom(t *testing.T) {
	spec.Covers(t, "FR-8", "FR-9")
	each := all(1000)
	each.All = true
	if hits := hitsOf(t, each, 1, 100, func(int) time.Duration { return 0 }); len(hits) != 100 {
		t.Errorf("drop all: %d of 100 hit", len(hits))
	}
	coin := all(1000)
	coin.Random = true
	if hits := hitsOf(t, coin, 1, 1000, func(int) time.Duration { return 0 }); len(hits) < 450 || len(hits) > 550 {
		t.Errorf("random: %d of 1000 hit", len(hits))
	}
}

// naive is a rule implemented literally after lnet-semantics §17: it keeps a list of all
// messages that matched, and computes afterwards what the rule must have counted.
type naive struct {
	attr    Attr
	matched []wire.MsgType
	hit     []bool
}

func (n *naive) stats() (s Stats) {
	s.Matched = uint64(len(n.matched))
	for i, t := range n.matched {
		if !n.hit[i] {
			continue
		}
		s.Hit++
		*map[wire.MsgType]*uint64{wire.Put: &s.Put, wire.Ack: &s.Ack, wire.Get: &s.Get, wire.Reply: &s.Reply}[t]++
	}
	return s
}

// about reports whether the rule applies to a message, by a simple comparison of all fields.
func (n *naive) about(h *wire.Header, portal uint32) bool {
	nidFits := func(of, id nid.NID) bool {
		return of.IsAny() || of == id || of.Number() == 0xffffffff && of.Net() == id.Net()
	}
	a := n.attr
	if !nidFits(a.Source, h.SrcNID) || !nidFits(a.Dest, h.DestNID) {
		return false
	}
	if a.Types != 0 && a.Types>>h.Type&1 == 0 {
		return false
	}
	if a.Portals == 0 {
		return true
	}
	return (h.Type == wire.Put || h.Type == wire.Get) && a.Portals>>portal&1 == 1
}

// TestStatistics compares the counters of a set with those of naive rules that get the same
// messages in the same order.
func TestStatistics(t *testing.T) {
	spec.Covers(t, "FR-6", "FR-10", "FR-11", "FR-19")
	rapid.Check(t, func(t *rapid.T) {
		s := New(source(rapid.Uint64().Draw(t, "seed")))
		ids := rapid.SampledFrom([]nid.NID{here, there, wholeNet(here.Net()), other, nid.Any()})
		var list []*naive // rules, ordered by age, the oldest first
		for range rapid.IntRange(1, 4).Draw(t, "rules") {
			a := Attr{
				Source: ids.Draw(t, "source"), Dest: ids.Draw(t, "dest"), Rate: rapid.Uint32Range(1, 5).Draw(t, "rate"),
				Types: Types(rapid.IntRange(0, 15).Draw(t, "types")), Portals: Portals(rapid.SampledFrom([]uint64{0, 1, 2, 3}).Draw(t, "portals")),
			}
			if _, err := s.Add(0, Drop, a); err == nil {
				list = append(list, &naive{attr: a})
			}
		}
		messages := rapid.SliceOf(rapid.IntRange(0, 7)).Draw(t, "messages")
		for _, m := range messages {
			h, portal := header(wire.MsgType(m&3), uint32(m>>2)), uint32(m>>2)
			fired := s.Arrives(0, h, there)
			record(t, s, list, h, portal, fired)
		}
		for i, got := range s.Rules(Drop) {
			n := list[len(list)-1-i]
			if want := n.stats(); got.Stats != want {
				t.Fatalf("rule %d %+v: %+v, want %+v", i, got.Attr, got.Stats, want)
			}
			n.check(t)
		}
	})
}

// record notes in the naive rules a message that the set s was asked about: in each rule that the message
// matches, from the newest one to the one that fired, because older rules do not count the message.
func record(t *rapid.T, s *Set, list []*naive, h *wire.Header, portal uint32, fired bool) {
	states := s.Rules(Drop)
	for i := len(list) - 1; i >= 0; i-- {
		n := list[i]
		if !n.about(h, portal) {
			continue
		}
		hit := states[len(list)-1-i].Hit > n.stats().Hit
		n.matched, n.hit = append(n.matched, h.Type), append(n.hit, hit)
		if hit {
			if !fired {
				t.Fatalf("rule %d hit a message that passed", i)
			}
			return
		}
	}
	if fired {
		t.Fatal("a message was hit by no rule")
	}
}

// check fails unless each window has one hit. The last window may have none if it is incomplete.
func (n *naive) check(t *rapid.T) {
	rate := int(n.attr.Rate)
	for w := range slices.Chunk(n.hit, rate) {
		hits := 0
		for _, hit := range w {
			if hit {
				hits++
			}
		}
		if hits > 1 || hits == 0 && len(w) == rate {
			t.Fatalf("%d hits in %v, a window of %d", hits, w, rate)
		}
	}
}

// TestSameSeed checks that equal seeds give equal outcomes.
func TestSameSeed(t *testing.T) {
	at := func(i int) time.Duration { return time.Duration(i) * 300 * time.Millisecond }
	for _, a := range []Attr{all(9), {Source: nid.Any(), Dest: nid.Any(), Interval: 3 * time.Second}} {
		first, second := hitsOf(t, a, 5, 500, at), hitsOf(t, a, 5, 500, at)
		if !slices.Equal(first, second) || slices.Equal(first, hitsOf(t, a, 6, 500, at)) {
			t.Errorf("%+v: seeds do not decide", a)
		}
	}
}
