package config

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestSpelling: the same value in another form is no change, in keys whose values are numbers, times, or
// yes and no. Texts that only look like these are compared as texts.
func TestSpelling(t *testing.T) {
	spec.Covers(t, "OP-6")
	load := func(text string) *Loaded {
		t.Helper()
		l := &Loaded{Config: Default()}
		var err error
		if l.Sources, err = l.parse("f", []byte(text)); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, c := range []struct {
		from, to string
		changes  int
	}{
		{"gossip:\n  interval: 1s\n", "gossip:\n  interval: 1000ms\n", 0},
		{"gossip:\n  interval: 1s\n", "", 0}, // no change, because 1s is the default
		{"gossip:\n  interval: 1s\n", "gossip:\n  interval: 1001ms\n", 1},
		{"credits: 16\n", "credits: 0x10\n", 0},
		{"credits: 16\n", "credits: 1_6\n", 0},
		{"credits: 16\n", "credits: 17\n", 1},
		{"nagle: 1\n", "nagle: yes\n", 0},
		{"nagle: true\n", "nagle: 1\n", 0},
		{"nagle: 'no'\n", "nagle: 1\n", 1},
		{"metrics_page: on\n", "metrics_page: off\n", 1},
		{"capture: '16'\n", "capture: '0x10'\n", 1},
		{"capture: 1s\n", "capture: 1000ms\n", 1},
		{"networks: tcp1\n", "networks: tcp01\n", 1},
	} {
		for _, way := range [][2]string{{c.from, c.to}, {c.to, c.from}} {
			if got := Changes(load(way[0]), load(way[1])); len(got) != c.changes {
				t.Errorf("%q to %q: %v, want %d changes", way[0], way[1], got, c.changes)
			}
		}
	}
}
