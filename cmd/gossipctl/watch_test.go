package main

import (
	"slices"
	"testing"
	"time"

	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
)

// TestFresh: watch shows each change once, also if the system's clock is set. The changes of the running agent then
// have other times, and those of agents that were stopped do not.
func TestFresh(t *testing.T) {
	type list = []gossipmod.Change
	speaks := func(second int) gossipmod.Change { // has the same clock in each agent
		return gossipmod.Change{Time: time.Unix(int64(second), 0), Clock: 9, Event: gossip.SpeaksUp}
	}
	for _, test := range []struct {
		name       string
		seen, then list
		want       list
	}{
		{"the beginning", nil, list{died(1, one), died(2, two)}, list{died(1, one), died(2, two)}},
		{"nothing is new", list{died(1, one), died(2, two)}, list{died(1, one), died(2, two)}, nil},
		{"one is new", list{died(1, one)}, list{died(1, one), died(2, two)}, list{died(2, two)}},
		{"clock set forward", list{died(1, one), died(2, two)}, list{died(3601, one), died(3602, two)}, nil},
		{"clock set back", list{died(2000, one), died(3000, two)}, list{died(2000, one), died(100, two)}, nil},
		{"clock set back, one is new", list{died(2000, one), died(3000, two)}, list{died(2000, one), died(100, two), speaks(101)}, list{speaks(101)}},
		{"the next agent has the same event", list{speaks(10)}, list{speaks(10), speaks(20)}, list{speaks(20)}},
		{"the last one has left the history", list{died(1, one), died(2, two)}, list{died(1, one), speaks(3)}, list{speaks(3)}},
	} {
		var w watcher
		w.fresh(test.seen)
		for i := range 3 {
			if got := w.fresh(test.then); !slices.Equal(got, test.want) {
				t.Errorf("%s, call %d: %v, want %v", test.name, i, got, test.want)
			}
			test.want = nil
		}
	}
}
