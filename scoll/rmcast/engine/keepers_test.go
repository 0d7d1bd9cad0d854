package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// crowd makes a group of n nodes. The messages of the senders wait for acknowledgements of the member on node mute, so
// the senders keep an old list in use. The last node restarts again and again, until there is no room for it. The
// manager leaves senders behind after five seconds.
func crowd(t *testing.T, n int, mute sim.NodeID, senders ...sim.NodeID) *world {
	w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) {
		w.wall, w.rejoin, w.manager.MemberTimeout, w.manager.Members = testWall, true, 5*time.Second, n+1
	})
	w.form(n)
	w.loss = func(from, _ sim.NodeID, p *packet) bool { return from == mute && p.kind != Instructed }
	for _, id := range senders {
		w.send(id, "x")
	}
	for g := w.hosts[0].g; g.stats.Full == 0; {
		w.restart(sim.NodeID(n - 1))
		w.run(50 * time.Millisecond)
	}
	return w
}

// runBefore runs the world until only the time left remains before the manager may leave a sender behind.
func (w *world) runBefore(sender int, left time.Duration) {
	g := w.hosts[0].g
	for w.net.Now()-g.members[sender].fewAt < g.cfg.MemberTimeout-left {
		w.run(50 * time.Millisecond)
	}
}

// TestKeepersAllButOne: RM-40: the messages of all other members wait for one member, which acknowledges none. This
// member also lies that it uses the same old list as they do, and does not end when it is expelled. The manager leaves
// all of them behind, some at a time. Those that come back find room, so the others always keep a majority without the
// liar. In the end all nodes but the liar are members.
func TestKeepersAllButOne(t *testing.T) {
	spec.Covers(t, "RM-40")
	const liar = 5
	w := crowd(t, 7, liar, 0, 1, 2, 3, 4)
	g := w.hosts[0].g
	old := g.members[0].oldest
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if o, err := wire.ParseOrder(p.data); from == liar && p.kind == Instructed && err == nil {
			o.Oldest = old
			p.data = o.AppendTo(nil)
		}
	}
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		return from == liar && p.kind != Instructed || to == liar && (p.kind == Control || wire.OrderKind(p.data[6]) == wire.OrderExpelled)
	}
	w.run(15 * time.Second)
	if len(g.members) != 6 || g.find(w.hosts[liar].m.self) != nil || g.usable != g.version {
		t.Errorf("%d members, %d have departed", len(g.members), len(g.departed))
	}
}

// TestKeepersCutOff: RM-40: most members use an old list, and are cut off right before the manager would leave them
// behind, or when it has just left the first of them behind. No majority remains without them, so the manager does not go
// on with the few others: a message to these does not end.
func TestKeepersCutOff(t *testing.T) {
	spec.Covers(t, "RM-40")
	for _, left := range []uint64{0, 2} {
		w := crowd(t, 6, 4, 1, 2, 3)
		g := w.hosts[0].g
		w.runBefore(1, g.cfg.Heartbeat)
		for g.stats.Silent < left {
			w.run(oneWay / 4)
		}
		w.net.Partition(sim.Nodes(1, 2, 3))
		w.run(15 * time.Second)
		if s := w.send(0, "y"); !g.alone || s.done || g.stats.Silent != left {
			t.Errorf("alone %v, %d members, %d left behind, want %d, %+v", g.alone, len(g.members), g.stats.Silent, left, s)
		}
	}
}

// TestDeathsBeforeKeepers: RM-40: two of five members die just before the manager would leave two others behind because
// of an old list. No majority would remain without all four. So the manager leaves the dead behind first, and the two
// others later. In the end the four nodes that live are members.
func TestDeathsBeforeKeepers(t *testing.T) {
	spec.Covers(t, "RM-40")
	for _, before := range []time.Duration{2 * time.Second, 500 * time.Millisecond, 250 * time.Millisecond, 50 * time.Millisecond} {
		w := crowd(t, 6, 2, 0, 1)
		g := w.hosts[0].g
		w.runBefore(1, before)
		w.net.Kill(3)
		w.net.Kill(4)
		w.run(20 * time.Second)
		if len(g.members) != 4 || g.alone {
			t.Errorf("%v before: %d members, alone %v", before, len(g.members), g.alone)
		}
	}
}

// TestDeathsBeforeAck: RM-40: before the manager leaves two of five members behind because of an old list, it waits until all
// have acknowledged a further list. Two members die right after that, and one acknowledges late. The dead do not count as
// remaining: they are left behind first.
func TestDeathsBeforeAck(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 6, 2, 0, 1)
	g, loss := w.hosts[0].g, w.loss
	w.runBefore(1, 50*time.Millisecond)
	w.loss = func(from, to sim.NodeID, p *packet) bool {
		return loss(from, to, p) || to == 2 && p.kind == Instructed && wire.OrderKind(p.data[6]) == wire.OrderList
	}
	for g.usable == g.version {
		w.run(10 * time.Millisecond)
	}
	w.run(10 * time.Millisecond)
	w.net.Kill(3)
	w.net.Kill(4)
	w.run(3 * g.cfg.Heartbeat)
	if w.loss = loss; g.stats.Silent > 0 {
		t.Errorf("%d are left behind", g.stats.Silent)
	}
	w.run(20 * time.Second)
	if len(g.members) != 4 || g.alone {
		t.Errorf("%d members, alone %v", len(g.members), g.alone)
	}
}

// TestDeathsBesideKeepers: RM-40: a member dies in the very moment in which two others are left behind because of an old
// list. It does not acknowledge the list without these two, which therefore does not become usable. The two nodes join
// again, so their former members no longer count in majorities. When one more member dies, a majority is still heard: both
// dead members are left behind, and the six nodes that live are members.
func TestDeathsBesideKeepers(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 8, 2, 0, 1)
	g := w.hosts[0].g
	for g.stats.Silent == 0 {
		w.run(oneWay / 4)
	}
	w.net.Kill(6)
	w.run(g.cfg.Heartbeat)
	if g.stats.Silent != 2 || g.usable == g.version {
		t.Fatalf("%d were left behind, usable %v of %v", g.stats.Silent, g.usable, g.version)
	}
	w.net.Kill(5)
	w.run(15 * time.Second)
	if len(g.members) != 6 || g.alone {
		t.Errorf("%d members, alone %v", len(g.members), g.alone)
	}
}

// TestKeepersOldest: RM-A7: of the members that use too old lists, those with the oldest one are left behind first.
func TestKeepersOldest(t *testing.T) {
	spec.Covers(t, "RM-A7")
	w := parted(t, 5, 1)
	g := w.hosts[0].g
	w.run(g.cfg.MemberTimeout) // the manager has been active for that long
	for i, counter := range []uint64{3, 2, 1, 1, 2} {
		m := g.members[i]
		m.oldest.Counter, m.fewAt = counter, g.now-g.cfg.MemberTimeout
	}
	g.members[3].fewAt = g.now
	if list := g.keepers(); !slices.Equal(list, g.members[2:3]) {
		t.Errorf("%d members", len(list))
	}
	g.members[2].fewAt = g.now
	if list := g.keepers(); !slices.Equal(list, []*managed{g.members[1], g.members[4]}) {
		t.Errorf("%d members", len(list))
	}
}

// TestKeeperStaysOut: RM-40: one of two members uses an old list. The manager expels it, and its node does not join
// again. It tells the manager that its membership has ended, and the other member goes on alone.
func TestKeeperStaysOut(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 3, 0, 1)
	w.rejoin = false
	w.net.Kill(2)
	w.net.Command(0, "dead 2")
	w.run(15 * time.Second)
	w.endedAt(1)
	w.loss = nil
	w.await(w.send(0, "y"))
}

// endedAt checks that a node is no longer a member, and that the manager knows it and has one member left.
func (w *world) endedAt(id sim.NodeID) {
	w.t.Helper()
	if g, h := w.hosts[0].g, w.hosts[id]; h.m.state != out || len(g.members) != 1 || g.alone {
		w.t.Fatalf("node %d is %v, %d members, alone %v", id, h.m.state, len(g.members), g.alone)
	}
}

// TestKeeperReturnsOnce: RM-40: a node whose member was left behind because of an old list joins again although there is
// no room for further nodes. If it restarts then, it waits for room as others do.
func TestKeeperReturnsOnce(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := newWorld(t, 3, func(w *world, _ *sim.Config[*packet]) { w.manager.Members = 5 })
	w.form(3)
	g := w.hosts[0].g
	for range 8 {
		g.departed = append(g.departed, departure{id: wire.ID{NID: hostNID(77), Incarnation: 1}, last: g.version})
	}
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Epoch: g.epoch, Incarnation: 2, MTU: 2048}
	if w.order(0, 77, &join); g.stats.Full != 1 {
		t.Fatalf("there is room: %+v", g.stats)
	}
	g.departed[0].again = true
	if w.order(0, 77, &join); len(g.members) != 4 {
		t.Errorf("%d members", len(g.members))
	}
	join.Incarnation++
	if w.order(0, 77, &join); len(g.members) != 3 || g.stats.Full != 2 {
		t.Errorf("%d members, %+v", len(g.members), g.stats)
	}
}

// TestKeepersBetweenLists: RM-A7, RM-40: a member uses the oldest list. Whenever the manager looks for such members,
// once per Heartbeat, it has just published a list that is not usable yet, so it cannot leave the member behind then.
// It does so later, before it publishes the next list.
func TestKeepersBetweenLists(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40")
	w := parted(t, 5, 1)
	lie(w, 3, 0)
	g := w.hosts[0].g
	for range 12 * time.Second / (11 * time.Millisecond) {
		w.net.Kill(2)
		w.run(time.Millisecond)
		w.net.Start(2, false)
		w.net.Command(2, "join")
		w.run(10 * time.Millisecond)
		if at := g.pace(); at > w.net.Now() && g.watchAt > w.net.Now() {
			g.watchAt = at
		}
	}
	if g.stats.Silent == 0 {
		t.Errorf("%d lists, no member is left behind", g.stats.Lists)
	}
}

// TestKeepersElection: RM-A8: the manager dies while lists name more departed members than the group may have members.
// The new manager records the dead member as failed all the same, so a message that waits for that member ends.
func TestKeepersElection(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) {
		w.managers, w.wall, w.rejoin, w.manager.Members = 2, testWall, true, 6
	})
	w.form(5)
	g := w.hosts[0].g
	w.loss = func(from, _ sim.NodeID, p *packet) bool { return (from == 0 || from == 2) && p.kind != Instructed }
	s, first := w.send(3, "x"), w.hosts[0].m.self
	for g.stats.Full == 0 {
		w.restart(4)
		w.run(50 * time.Millisecond)
	}
	w.run(time.Second)
	if len(g.departed) <= g.cfg.Members {
		t.Fatalf("%d have departed", len(g.departed))
	}
	w.net.Kill(0)
	w.run(20 * time.Second)
	w.loss = nil
	if w.await(s); !slices.Contains(s.failed, first) {
		t.Errorf("%v, failed %v", s.lost, s.failed)
	}
}
