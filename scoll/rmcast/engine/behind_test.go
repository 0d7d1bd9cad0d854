package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestLeftBehindReturns: RM-2, RM-A18: a member is left behind for its silence, and joins again. Another one was cut off
// meanwhile, and learns of both at once. Its message, which waits for the member that was left behind, ends with ErrSplit:
// the process of that member goes on, and lacks the message. If its node has certainly died, the message is a success.
func TestLeftBehindReturns(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A18")
	for _, died := range []bool{false, true} {
		w := parted(t, 6, 1)
		behind, g := w.hosts[5].m.self, w.hosts[0].g
		w.net.Partition(sim.Nodes(5))
		w.run(3500 * time.Millisecond)
		s := w.send(4, "x")
		w.net.Heal()
		w.net.Partition(sim.Nodes(4), sim.Nodes(5))
		for g.stats.Silent == 0 {
			w.run(10 * time.Millisecond)
		}
		w.net.Heal()
		w.net.Partition(sim.Nodes(4))
		w.run(2 * time.Second)
		if died {
			w.net.Kill(5)
			w.net.Command(0, "dead 5")
			w.run(time.Second)
		}
		w.net.Kill(3)
		w.net.Command(0, "dead 3") // a new list, without the two
		w.run(100 * time.Millisecond)
		w.net.Heal()
		w.await(s)
		if errors.Is(s.lost, ErrSplit) == died || !slices.Contains(s.failed, behind) {
			t.Errorf("died: %v: %v, failed %v", died, s.lost, s.failed)
		}
		w.run(5 * time.Second)
		if n := len(g.base.voters()); n != len(g.members) || g.usable != g.version {
			t.Errorf("%d of %d members vote", n, len(g.members))
		}
	}
}

// TestSilentReturns: RM-2, RM-A18: a member of an earlier manager was left behind, and its node has asked a new manager to
// join. Members that know that it was silent say so. The lists of the new manager still call it silent, but do not count
// it as a voter.
func TestSilentReturns(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A18")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: 8, MTU: 2048}
	s.g.Step(2, Input{Kind: Instructed, From: hostNID(4), Data: join.AppendTo(nil)}, &s.out)
	for _, host := range list {
		o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 4}, Window: 3, Voters: 5, Of: 4, Departed: []wire.ID{testID(4)}, Silent: 1}
		for _, m := range list {
			o.Members = append(o.Members, wire.Member{ID: testID(m), Number: uint32(m)})
		}
		s.told(3, host, &o)
	}
	s.publishes(t, []sim.NodeID{1, 2, 3, 4}, nil)
	if o := &s.g.latest; o.Silent != 1 || !slices.Equal(o.Departed, []wire.ID{testID(4)}) || o.Of != 3 {
		t.Errorf("%v have departed, %d of them silent; %d vote", o.Departed, o.Silent, o.Of)
	}
}

// TestLeftBehindDies: RM-2, RM-28: a member is left behind for its silence, asks to join again, and gives up. Then its node
// dies. Discovery is asked about that as long as the origin of a message, which was cut off meanwhile, may have to be told of
// the member. When the death is certain, and the origin is heard again, the message is a success.
func TestLeftBehindDies(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-28")
	w := parted(t, 6, 1)
	behind, g := w.hosts[5].m.self, w.hosts[0].g
	w.net.Partition(sim.Nodes(5))
	w.run(3500 * time.Millisecond)
	s := w.send(4, "x")
	w.net.Heal()
	w.net.Partition(sim.Nodes(4), sim.Nodes(5))
	for g.stats.Silent == 0 {
		w.run(10 * time.Millisecond)
	}
	w.net.Heal()
	w.net.Partition(sim.Nodes(4))
	w.run(1200 * time.Millisecond)
	w.rejoin = false
	w.net.Command(5, "leave")
	w.run(0)
	w.order(0, 5, &wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: g.epoch, Incarnation: w.hosts[5].m.self.Incarnation})
	w.run(g.cfg.Heartbeat)
	w.net.Kill(5)
	w.net.Command(0, "doubted 5")
	w.run(0)
	for _, d := range g.Doubted() {
		w.net.Command(0, fmt.Sprintf("ended %d", hostID(d.Node)))
	}
	w.run(g.cfg.Heartbeat)
	w.net.Heal()
	if w.await(s); s.lost != nil || !slices.Equal(s.failed, []wire.ID{behind}) {
		t.Errorf("%v, failed %v", s.lost, s.failed)
	}
}
