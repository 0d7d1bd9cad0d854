package rmcast_test

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/scoll/rmcast"
)

// TestDoubtedLong: RM-A8: a View has reported a death, and is not certain of it for minutes, as when gossip has given up
// on the manager's node. The manager asks ever more seldom, and often again after news: when the View reports another
// node, or the members change. When the View is certain at last, the death counts four seconds later at the latest, and no
// sooner than the member is silent.
func TestDoubtedLong(t *testing.T) {
	spec.Covers(t, "RM-A8")
	const seldom = 4 * time.Second
	v := new(view)
	s := newStacks(t, 4, link.Quality{}, func(id int, agent *rmcast.Config, _ *rmcast.GroupConfig) {
		if id == 0 {
			agent.View = v
		}
	})
	s.form(4)
	manager, leaver := s.nodes[0], s.nodes[3]
	tell := func(id sim.NodeID, alive bool) func() {
		return func() { manager.host.Do(func() { v.told(simlnd.NID(id), alive, 1) }) }
	}
	asks := func(d time.Duration) int {
		before := v.asked
		s.run(d)
		return v.asked - before
	}
	for _, news := range []struct {
		name string
		make func()
	}{
		{"the death", tell(2, false)},
		{"another death", tell(1, false)},
		{"the other one is alive", tell(1, true)},
		{"a member leaves", func() { leaver.host.Do(leaver.group.BeginLeave) }},
	} {
		news.make()
		if n := asks(3 * time.Second); n < 5 {
			t.Errorf("%s: asked %d times", news.name, n)
		}
		s.run(time.Minute)
		if n := asks(5 * seldom); n < 4 || n > 2*6 { // at most about two deaths
			t.Errorf("a minute after that (%s): asked %d times in %v", news.name, n, 5*seldom)
		}
	}
	if n := len(manager.group.Status().Members); n != 3 {
		t.Errorf("%d members", n)
	}
	v.ended = true
	s.fabric.Crash(2)
	s.run(2 * time.Second)
	early := len(manager.group.Status().Members)
	s.run(time.Second + seldom + time.Second)
	if n := len(manager.group.Status().Members); early != 3 || n != 2 {
		t.Errorf("%d members, and %d when the death is certain", early, n)
	}
}
