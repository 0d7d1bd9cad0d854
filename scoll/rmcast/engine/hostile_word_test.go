package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestHearsay: RM-2: what members say about the messages of an origin is not trusted. An
// origin does not believe members that say it has sent more, and members do not believe
// others that say more is released.
func TestHearsay(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	w, _ := tallied(t, 5, nil, nil)
	w.await(w.send(0, "x"))
	root, h := w.hosts[0], w.hosts[3]
	s := h.m.group.byID[root.m.self].stream
	said := s.entry(wire.Stable, s.stable, 50)
	deliver(w, root, Control, 3, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{said}))
	if p := &root.m.sender; p.stream.head != p.sent {
		t.Errorf("the origin has sent %d, and believes %d", p.sent, p.stream.head)
	}
	d := wire.Datagram{
		Group: testGroup, Flags: wire.FlagRepair, Version: s.roster.version, Origin: s.number(), Length: 4, Seq: s.head, Count: 1, Size: 4,
		Stable: s.head + 30, First: s.first,
	}
	deliver(w, h, Arrival, 2, append(d.AppendTo(nil), "evil"...))
	if s.lost || s.stable > d.Seq {
		t.Errorf("another member has it give messages up: stable %d, head %d", s.stable, s.head)
	}
}

// TestFullGroup: a group accepts only as many members as its lists have room for. Further nodes are refused, and
// told the reason. There is room again when a member leaves.
func TestFullGroup(t *testing.T) {
	w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) { w.manager.Members = 3 })
	w.run(0)
	for id := range sim.NodeID(5) {
		w.net.Command(id, "join")
		w.run(time.Second)
	}
	g := w.hosts[0].g
	if len(g.latest.Members) != 3 || g.stats.Full == 0 || g.usable != g.version {
		t.Fatalf("%d members, %+v", len(g.latest.Members), g.stats)
	}
	refused := 0
	for _, h := range w.hosts {
		if s := h.m.Status(); s.State == "joining" && errors.Is(s.Refusal, ErrNoRoom) {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d nodes know why they are refused", refused)
	}
	w.await(w.send(0, "x"))
	w.net.Command(1, "leave")
	w.run(5 * time.Second)
	if len(g.latest.Members) != 3 || g.find(w.hosts[1].m.self) != nil {
		t.Errorf("%v", g.latest.Members)
	}
}

// TestForgedRepair: a repair goes to one member, so one that comes by multicast is forged and
// dropped.
func TestForgedRepair(t *testing.T) {
	spec.Covers(t, "RM-39")
	w, _ := tallied(t, 4, nil, nil)
	w.await(w.send(1, "x"))
	h := w.hosts[2]
	s := h.m.group.byID[w.hosts[1].m.self].stream
	d := wire.Datagram{
		Group: testGroup, Flags: wire.FlagRepair, Version: s.roster.version, Origin: s.number(), Length: 4, Seq: s.head, Count: 1, Size: 4,
		Stable: s.stable, First: s.first,
	}
	w.inject(2, 3, &packet{Arrival, append(d.AppendTo(nil), "evil"...), true})
	if h.m.stats.Forged != 1 || h.delivered("evil") > 0 {
		t.Errorf("%+v", h.m.stats)
	}
}

// TestOthersRepairedOnce: RM-20: a member that is not a child gets the payload that it
// requests, but not for every repetition of the request.
func TestOthersRepairedOnce(t *testing.T) {
	spec.Covers(t, "RM-20")
	w, c := tallied(t, 8, nil, nil)
	w.net.Pause(7) // node 7 does not acknowledge, so the message is not released
	w.send(0, "x")
	w.run(5 * time.Millisecond)
	h := w.hosts[4]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	var asks []wire.Entry
	for range wire.MaxEntries {
		asks = append(asks, s.entry(wire.Need, s.stable, 1))
	}
	before := c.repairs
	for range 10 {
		w.inject(4, 0, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, asks), false})
	}
	if n := c.repairs - before; n != 1 || h.m.stats.Repeated != 10*wire.MaxEntries-1 {
		t.Errorf("%d repairs, %+v", n, h.m.stats)
	}
}

// TestVersionsAgree: an order with impossible versions is dropped as a whole.
func TestVersionsAgree(t *testing.T) {
	spec.Covers(t, "RM-39")
	w, _ := tallied(t, 3, nil, nil)
	h, g := w.hosts[2], w.hosts[0].g
	for i, change := range []func(o *wire.Order){
		func(o *wire.Order) { o.Version.Epoch++ },
		func(o *wire.Order) { o.Usable = wire.Version{Epoch: o.Epoch, Counter: o.Version.Counter + 1} },
		func(o *wire.Order) { o.Oldest = wire.Version{Epoch: o.Epoch, Counter: 1 << 63} },
	} {
		o := g.state(wire.OrderState)
		o.Incarnation = h.m.self.Incarnation
		change(&o)
		w.order(2, 0, &o)
		if h.m.stats.Malformed != uint64(i+1) {
			t.Errorf("order %d is taken", i)
		}
	}
}

// TestJoinStorm: nodes send 2000 requests to join by turns, each for a later incarnation. The manager publishes few
// lists because of them, and keeps few of the incarnations.
func TestJoinStorm(t *testing.T) {
	spec.Covers(t, "RM-40")
	for nodes := 1; nodes <= 3; nodes++ {
		w, _ := tallied(t, 4, nil, nil)
		g := w.hosts[0].g
		before := g.stats.Lists
		for i := range 2000 {
			w.order(0, sim.NodeID(77+i%nodes), &wire.Order{Kind: wire.OrderJoin, Group: testGroup, Epoch: g.epoch, Incarnation: uint64(1 + i), MTU: 2048})
		}
		if n := g.stats.Lists - before; n > 2 || len(g.departed) > 2 || len(g.members) > 4+nodes {
			t.Errorf("%d nodes: %d lists, %d departed, %d members", nodes, n, len(g.departed), len(g.members))
		}
		for i := range nodes {
			w.net.Command(0, fmt.Sprint("dead ", 77+i)) // discovery reports the node dead, as it acknowledges nothing
		}
		w.await(w.send(0, "x"))
		w.want("x", w.all()...)
	}
}

// TestLowerIncarnation: RM-A8: a node whose clock was set back joins with a lower incarnation.
// It can join once its previous incarnation has been silent for a while, but not while that
// still sends.
func TestLowerIncarnation(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := clocked(t, 3, 1)
	g, old := w.hosts[0].g, w.hosts[2].m.self
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Epoch: g.epoch, Incarnation: old.Incarnation - 5, MTU: 2048}
	for range 20 {
		w.order(0, 2, &join)
		w.run(200 * time.Millisecond)
	}
	if g.find(old) == nil {
		t.Fatal("an incarnation that speaks has ended")
	}
	w.net.Kill(2)
	for range 20 {
		w.order(0, 2, &join)
		w.run(200 * time.Millisecond)
	}
	if g.find(old) != nil || g.find(wire.ID{NID: old.NID, Incarnation: join.Incarnation}) == nil {
		t.Error("the lower life is no member")
	}
}
