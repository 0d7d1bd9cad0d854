package faultrule

import (
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var (
	here  = nid.MustParse("10.0.0.1@tcp")
	there = nid.MustParse("10.0.0.2@tcp")
	other = nid.MustParse("10.0.1.2@tcp1")
)

// header returns the header of a message from here to there.
func header(t wire.MsgType, portal uint32) *wire.Header {
	h := &wire.Header{SrcNID: here, DestNID: there, Type: t}
	switch t {
	case wire.Put:
		h.SetPut(wire.PutCmd{Portal: portal})
	case wire.Get:
		h.SetGet(wire.GetCmd{Portal: portal})
	}
	return h
}

// source returns a random source that is the same in each run.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// all returns the attributes of a rule that matches all messages and hits one in each rate of them.
func all(rate uint32) Attr { return Attr{Source: nid.Any(), Dest: nid.Any(), Rate: rate} }

func newSet(t testing.TB, seed uint64, k Kind, rules ...Attr) *Set {
	t.Helper()
	s := New(source(seed))
	for _, a := range rules {
		if _, err := s.Add(0, k, a); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestMatch(t *testing.T) {
	spec.Covers(t, "FR-1", "FR-2", "FR-3")
	any, tcp := nid.Any(), wholeNet(here.Net())
	for _, c := range []struct {
		name string
		attr Attr
		h    *wire.Header
		at   nid.NID
		want bool
	}{
		{"all", Attr{Source: any, Dest: any}, header(wire.Ack, 0), there, true},
		{"one NID", Attr{Source: here, Dest: there}, header(wire.Put, 4), there, true},
		{"another source", Attr{Source: there, Dest: there}, header(wire.Put, 4), there, false},
		{"another destination", Attr{Source: here, Dest: here}, header(wire.Put, 4), there, false},
		{"a net", Attr{Source: tcp, Dest: tcp}, header(wire.Put, 4), there, true},
		{"another net", Attr{Source: wholeNet(other.Net()), Dest: any}, header(wire.Put, 4), there, false},
		{"the local NID", Attr{Source: any, Dest: any, Local: there}, header(wire.Put, 4), there, true},
		{"the local net", Attr{Source: any, Dest: any, Local: tcp}, header(wire.Put, 4), there, true},
		{"any local NID", Attr{Source: any, Dest: any, Local: any}, header(wire.Put, 4), there, true},
		{"another local NID", Attr{Source: any, Dest: any, Local: here}, header(wire.Put, 4), there, false},
		{"a portal", Attr{Source: any, Dest: any, Portals: 1<<4 | 1<<7}, header(wire.Get, 7), there, true},
		{"another portal", Attr{Source: any, Dest: any, Portals: 1 << 4}, header(wire.Put, 7), there, false},
		{"a portal that there is not", Attr{Source: any, Dest: any, Portals: 1 << 63}, header(wire.Put, 1<<31+63), there, false},
		{"a portal, and no PUT or GET", Attr{Source: any, Dest: any, Portals: 1}, header(wire.Reply, 0), there, false},
		{"types", Attr{Source: any, Dest: any, Types: 1<<wire.Ack | 1<<wire.Get}, header(wire.Get, 0), there, true},
		{"other types", Attr{Source: any, Dest: any, Types: 1<<wire.Ack | 1<<wire.Get}, header(wire.Put, 0), there, false},
		{"a type that there is not", Attr{Source: any, Dest: any}, header(wire.Hello, 0), there, false},
	} {
		c.attr.Rate = 1
		s := newSet(t, 1, Drop, c.attr)
		if got := s.Arrives(0, c.h, c.at); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestInvalid(t *testing.T) {
	spec.Covers(t, "FR-2", "FR-4", "FR-5")
	valid := func(k Kind) Attr {
		a := all(2)
		if k == Delay {
			a.Latency = time.Second
		}
		return a
	}
	for _, c := range []struct {
		name   string
		kind   Kind
		change func(*Attr)
		ok     bool
	}{
		{"a rate", Drop, func(*Attr) {}, true},
		{"an interval", Drop, func(a *Attr) { a.Rate, a.Interval = 0, time.Second }, true},
		{"rate and interval", Drop, func(a *Attr) { a.Interval = time.Second }, false},
		{"neither", Drop, func(a *Attr) { a.Rate = 0 }, false},
		{"neither, and drop all", Drop, func(a *Attr) { a.Rate, a.All = 0, true }, false},
		{"neither, and random", Drop, func(a *Attr) { a.Rate, a.Random = 0, true }, false},
		{"half a second", Drop, func(a *Attr) { a.Rate, a.Interval = 0, 500*time.Millisecond }, false},
		{"a negative interval", Drop, func(a *Attr) { a.Rate, a.Interval = 0, -time.Second }, false},
		{"the longest interval", Drop, func(a *Attr) { a.Rate, a.Interval = 0, longest }, true},
		{"no source", Drop, func(a *Attr) { a.Source = nid.NID{} }, false},
		{"no destination", Drop, func(a *Attr) { a.Dest = nid.NID{} }, false},
		{"a latency", Drop, func(a *Attr) { a.Latency = time.Second }, false},
		{"no class", Drop, func(a *Attr) { a.Classes = 1 }, false},
		{"class 11", Drop, func(a *Attr) { a.Classes = 1 << 11 }, false},
		{"any class", Drop, func(a *Attr) { a.Classes = anyClass }, true},
		{"a portal of ACKs", Drop, func(a *Attr) { a.Portals, a.Types = 1, 1<<wire.Ack }, false},
		{"a portal of ACKs and GETs", Drop, func(a *Attr) { a.Portals, a.Types = 1, 1<<wire.Ack|1<<wire.Get }, true},
		{"a delay", Delay, func(*Attr) {}, true},
		{"no latency", Delay, func(a *Attr) { a.Latency = 0 }, false},
		{"a negative latency", Delay, func(a *Attr) { a.Latency = -1 }, false},
		{"too long a latency", Delay, func(a *Attr) { a.Latency = longest + 1 }, false},
		{"both, of a delay", Delay, func(a *Attr) { a.Interval = time.Second }, false},
		{"the local NID of a delay", Delay, func(a *Attr) { a.Local = here }, false},
		{"the class of a delay", Delay, func(a *Attr) { a.Classes = anyClass }, false},
		{"a random delay", Delay, func(a *Attr) { a.Random = true }, false},
		{"a delay of all", Delay, func(a *Attr) { a.All = true }, false},
	} {
		a := valid(c.kind)
		c.change(&a)
		_, err := New(source(1)).Add(0, c.kind, a)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestNewestFirst: the rule that was added last decides, and rules behind the one that fires
// do not see the message.
func TestNewestFirst(t *testing.T) {
	spec.Covers(t, "FR-10", "FR-11")
	puts := all(1)
	puts.Types = 1 << wire.Put
	never := Attr{Source: nid.Any(), Dest: nid.Any(), Interval: 1000 * time.Second}
	s := newSet(t, 2, Drop, all(1), puts, never) // with seed 2 the rule "never" hits no message in the first seconds
	s.Arrives(0, header(wire.Put, 1), there)
	s.Arrives(0, header(wire.Get, 1), there)
	s.Arrives(0, header(wire.Put, 1), there)
	rules := s.Rules(Drop)
	want := []Stats{{Matched: 3}, {Matched: 2, Hit: 2, Put: 2}, {Matched: 1, Hit: 1, Get: 1}}
	for i, r := range rules {
		if r.Stats != want[i] {
			t.Errorf("rule %d of %d: %+v, want %+v", i, len(rules), r.Stats, want[i])
		}
	}
}

// TestSides: rules with health errors apply to messages that leave, the others to messages
// that arrive.
func TestSides(t *testing.T) {
	spec.Covers(t, "FR-14")
	failing := all(1)
	failing.Classes = 1<<2 | 1<<8
	s := newSet(t, 1, Drop, failing)
	if s.Arrives(0, header(wire.Put, 1), there) {
		t.Error("a rule with health errors drops what arrives")
	}
	got := map[lnd.Failure]int{}
	for range 1000 {
		got[s.Leaves(0, header(wire.Put, 1), here)]++
	}
	if len(got) != 2 || got[2] < 400 || got[8] < 400 {
		t.Errorf("failed with %v, want classes 2 and 8 about as often", got)
	}
	plain := newSet(t, 1, Drop, all(1))
	if c := plain.Leaves(0, header(wire.Put, 1), here); c != 0 {
		t.Errorf("a rule without health errors fails what leaves with %v", c)
	}
	anything := all(1)
	anything.Classes = anyClass
	s = newSet(t, 1, Drop, anything)
	got = map[lnd.Failure]int{}
	for range 2000 {
		got[s.Leaves(0, header(wire.Put, 1), here)]++
	}
	for c := lnd.LocalInterrupt; c < lnd.NumFailures; c++ {
		if got[c] < 120 {
			t.Errorf("random: %v came %d times of 2000", c, got[c])
		}
	}
}

func TestRemove(t *testing.T) {
	spec.Covers(t, "FR-17")
	pair := func(src, dst nid.NID) Attr { return Attr{Source: src, Dest: dst, Rate: 1} }
	tcp := wholeNet(here.Net())
	rules := []Attr{pair(here, there), pair(here, tcp), pair(tcp, there), pair(here, there), pair(nid.Any(), there)}
	for _, c := range []struct {
		name     string
		src, dst nid.NID
		want     []ID
	}{
		{"equal ones", here, there, []ID{4, 1}},
		{"a net is equal to itself alone", tcp, there, []ID{3}},
		{"any source", nid.Any(), there, []ID{5, 4, 3, 1}},
		{"any destination", here, nid.Any(), []ID{4, 2, 1}},
		{"all", nid.Any(), nid.Any(), []ID{5, 4, 3, 2, 1}},
		{"none", there, here, nil},
	} {
		s := newSet(t, 1, Drop, rules...)
		if _, err := s.Add(0, Delay, Attr{Source: here, Dest: there, Rate: 1, Latency: 1}); err != nil {
			t.Fatal(err)
		}
		if got := s.Remove(Drop, c.src, c.dst); !slices.Equal(got, c.want) || len(s.Rules(Drop)) != len(rules)-len(got) {
			t.Errorf("%s: removed %v, want %v; %d are left", c.name, got, c.want, len(s.Rules(Drop)))
		}
		if len(s.Rules(Delay)) != 1 {
			t.Errorf("%s: the delay rule is gone", c.name)
		}
	}
}

func TestReset(t *testing.T) {
	spec.Covers(t, "FR-18")
	const rate = 1000
	first := func(s *Set) (hit int) {
		for i := range rate {
			if s.Arrives(0, header(wire.Put, 1), there) {
				hit = i
			}
		}
		return hit
	}
	seen := map[int]bool{}
	s := newSet(t, 1, Drop, all(rate))
	for range 10 {
		seen[first(s)] = true
		// With this message the rule's next window begins, so that Reset comes in the middle of a window.
		s.Arrives(0, header(wire.Put, 1), there)
		s.Reset(0, Drop)
		if got := s.Rules(Drop)[0].Stats; got != (Stats{}) {
			t.Fatalf("after the reset %+v", got)
		}
	}
	if len(seen) < 8 {
		t.Errorf("the messages that were hit after each reset: %v", seen)
	}
	timed := newSet(t, 1, Drop, Attr{Source: nid.Any(), Dest: nid.Any(), Interval: 1000 * time.Second})
	before := timed.rules[Drop][0].next
	timed.Reset(5*time.Second, Drop)
	if after := timed.rules[Drop][0].next; after.at == before.at || after.ends != 1005*time.Second {
		t.Errorf("the window after the reset: %+v, before %+v", after, before)
	}
}

func TestBound(t *testing.T) {
	spec.Covers(t, "FR-20")
	s := New(source(1))
	for range maxRules {
		if _, err := s.Add(0, Drop, all(1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Add(0, Drop, all(1)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one rule more: %v", err)
	}
	delay := all(1)
	delay.Latency = time.Second
	if _, err := s.Add(0, Delay, delay); err != nil {
		t.Errorf("a rule of the other kind: %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	s := newSet(t, 1, Drop, all(3), Attr{Source: nid.Any(), Dest: nid.Any(), Interval: time.Second})
	h := header(wire.Put, 1)
	if n := testing.AllocsPerRun(100, func() { s.Arrives(0, h, there); s.Leaves(0, h, here); s.Waits(0, h) }); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}
