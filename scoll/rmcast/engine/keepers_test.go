package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// crowd makes a group of n nodes, the last of which restarts until there is no room for it, because messages of senders wait
// for acknowledgements of a mute member. The senders are left behind after five seconds.
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

// runBefore runs the world until a sender will be left behind after some time.
func (w *world) runBefore(sender int, left time.Duration) {
	g := w.hosts[0].g
	for w.net.Now()-g.members[sender].fewAt < g.cfg.MemberTimeout-left {
		w.run(50 * time.Millisecond)
	}
}

// TestKeepersAllButOne: RM-40: the messages of all members wait, and one member acknowledges none, says that it uses the
// same old list, and does not end when it is expelled. Each member is left behind in turn. Those that come back find
// room, so that the group does not shrink until no majority remains without the one that lies.
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

// TestKeepersCutOff: RM-40: most members use an old list, and are cut off right before they would be left behind. No
// majority remains without them, so that the manager does not go on with the few others.
func TestKeepersCutOff(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 6, 4, 1, 2, 3)
	g := w.hosts[0].g
	w.runBefore(1, g.cfg.Heartbeat)
	w.net.Partition(sim.Nodes(1, 2, 3))
	w.run(15 * time.Second)
	if s := w.send(0, "y"); !g.alone || s.done {
		t.Errorf("alone %v, %d members, %d left behind, %+v", g.alone, len(g.members), g.stats.Silent, s)
	}
}

// TestDeathsBeforeKeepers: RM-40: two of five members have just died when others would be left behind because of an old
// list. No majority would remain, so these wait until the dead are left behind.
func TestDeathsBeforeKeepers(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 6, 2, 0, 1)
	g := w.hosts[0].g
	w.runBefore(1, 4*g.cfg.Heartbeat)
	w.net.Kill(3)
	w.net.Kill(4)
	w.run(20 * time.Second)
	if len(g.members) != 4 || g.alone {
		t.Errorf("%d members, alone %v", len(g.members), g.alone)
	}
}

// TestDeathsBesideKeepers: RM-40: a member has just died when others are left behind because of an old list, so that the list
// without these does not become usable. They have come back, and no longer count, when another member dies: a
// majority is left, and the dead are left behind.
func TestDeathsBesideKeepers(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := crowd(t, 8, 2, 0, 1)
	g := w.hosts[0].g
	w.runBefore(1, 4*g.cfg.Heartbeat)
	w.net.Kill(6)
	w.run(5 * g.cfg.Heartbeat)
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

// TestKeepersBetweenLists: RM-A7, RM-40: a member uses the oldest list, and a list is published whenever the manager looks
// for members that do, so that no list is usable then. The member is left behind before the next list.
func TestKeepersBetweenLists(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40")
	w := parted(t, 5, 1)
	lie(w, 3)
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

// TestKeepersElection: RM-A8: when a manager takes over, lists name more departed members than the group may have members.
// The member that does not answer the new manager is left behind like any other: no message waits for it.
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
