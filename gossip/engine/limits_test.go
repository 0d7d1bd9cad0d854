package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

func isConfig(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// TestLimits: Limits returns the right limits of death and of obsolete messages for each number
// of participants, with and without Strict (GO-A1, GO-A3, GO-A12, GO-A20).
func TestLimits(t *testing.T) {
	spec.Covers(t, "GO-A1", "GO-A3", "GO-A12", "GO-A20")
	for _, c := range []struct {
		n                             int
		dead, obsolete, fudge, strict int
	}{
		{2, 16, 40, 0, 1},
		{8, 16, 40, 0, 3},
		{16, 16, 40, 1, 4},
		{64, 17, 40, 1, 6},
		{1000, 26, 40, 2, 10},
		{65536, 40, 64, 4, 16},
		{1_000_000, 48, 80, 4, 20},
	} {
		got, err := Config{Interval: interval}.Limits(c.n)
		if err != nil {
			t.Fatal(err)
		}
		if got.Dead != c.dead || got.Obsolete != c.obsolete || got.Fudge != c.fudge {
			t.Errorf("%d participants: %+v, want dead %d, obsolete %d, fudge %d", c.n, got, c.dead, c.obsolete, c.fudge)
		}
		strict, err := Config{Interval: interval, Strict: true}.Limits(c.n)
		if err != nil || strict.Dead != c.strict || strict.Obsolete != c.strict || strict.Fudge != c.fudge {
			t.Errorf("%d participants, strictly: %+v, %v, want dead and obsolete %d", c.n, strict, err, c.strict)
		}
	}
}

// TestBadConfig: Limits refuses impossible configurations, so that no machine is made of them,
// and says what is wrong (GO-6, GO-7, GO-A11, GO-A12, GO-45).
func TestBadConfig(t *testing.T) {
	spec.Covers(t, "GO-6", "GO-7", "GO-45", "GO-46", "GO-A11", "GO-A12")
	ms := time.Millisecond
	for _, c := range []struct {
		name string
		cfg  Config
		says string // text of the error; empty: the configuration is valid
	}{
		{"interval 199 ms", Config{Interval: 199 * ms}, "below 200ms"},
		{"interval 200 ms", Config{Interval: 200 * ms}, ""},
		{"half of 400 ms", Config{Interval: 200 * ms, RTT: 400 * ms}, ""},
		{"half of 401 ms", Config{Interval: 200 * ms, RTT: 401 * ms}, "half the round trip time"},
		{"no whole milliseconds", Config{Interval: 200*ms + 1}, "whole number"},
		{"fudge of half the logarithm", Config{Interval: 200 * ms, Fudge: 5}, ""},
		{"more fudge", Config{Interval: 200 * ms, Fudge: 6}, "fudge 6 is above 5"},
		{"never dead", Config{Interval: 200 * ms, DeadFactor: 25}, "want 1 to 253"},
		{"dead at last", Config{Interval: 200 * ms, DeadFactor: 20, DeadSlack: 53, Fudge: -1}, ""},
		{"later", Config{Interval: 200 * ms, DeadFactor: 20, DeadSlack: 54, Fudge: -1}, "want 1 to 253"},
		{"a factor beyond all bounds", Config{Interval: 200 * ms, DeadFactor: 1 << 62}, "more than 253 cycles"},
		{"a slack beyond all bounds", Config{Interval: 200 * ms, DeadSlack: 1<<63 - 1}, "more than 253 cycles"},
		{"quorum", Config{Interval: 200 * ms, Quorum: 100}, "100 %"},
		{"interval", Config{Interval: 2 * time.Hour}, "above 1h"},
	} {
		_, err := c.cfg.Limits(1024)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !isConfig(err)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
	}
	if _, err := New(Config{Interval: interval}, testList(t, 4), 4); err == nil {
		t.Error("a node that is not in the list may take part (GO-46)")
	}
}

// TestList: a list has NIDs of one network and no NID twice (GO-8, GO-43); its digest depends
// on the NIDs, but not on the order in which they are given (GO-10).
func TestList(t *testing.T) {
	spec.Covers(t, "GO-8", "GO-10", "GO-43", "GO-A15")
	ids := testNIDs(5)
	a, err := NewList(ids)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(ids)
	if b, err := NewList(ids); err != nil || b.Digest() != a.Digest() || b.NID(0) != a.NID(0) {
		t.Errorf("the order of the list counts: %v, %v", b, err)
	}
	if c, err := NewList(ids[1:]); err != nil || c.Digest() == a.Digest() {
		t.Errorf("another list has the same digest: %v, %v", c, err)
	}
	for i := range a.Len() {
		if got := a.Index(a.NID(i)); got != i {
			t.Errorf("%v has index %d, want %d", a.NID(i), got, i)
		}
	}
	if got := a.Index(nid.MustParse("10.9.9.9@tcp")); got != -1 {
		t.Errorf("a stranger has index %d", got)
	}
	for name, bad := range map[string][]nid.NID{
		"one":          ids[:1],
		"twice":        {ids[0], ids[1], ids[0]},
		"two networks": {ids[0], nid.MustParse("10.0.0.9@tcp1")},
		"two types":    {ids[0], nid.MustParse("10.0.0.9@o2ib")},
		"wildcard":     {ids[0], nid.Any()},
		"loopback":     {nid.Lo0(), nid.Lo0()},
		"invalid":      {ids[0], {}},
		"too many":     make([]nid.NID, wire.MaxParticipants+1), // the list must be refused (GO-A15)
	} {
		if _, err := NewList(bad); !isConfig(err) {
			t.Errorf("%s: got %v, want a ConfigError", name, err)
		}
	}
}
