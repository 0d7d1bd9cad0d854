package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// lie makes a member report that it still sends under the oldest list, with further flags. If it reports that it leaves, it
// takes no notice of the manager.
func lie(w *world, liar sim.NodeID, flags wire.OrderFlags) {
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if o, err := wire.ParseOrder(p.data); from == liar && p.kind == Instructed && err == nil {
			o.Oldest, o.Flags = wire.Version{}, o.Flags|flags
			p.data = o.AppendTo(nil)
		}
	}
	w.loss = func(_, to sim.NodeID, p *packet) bool { return to == liar && flags != 0 && p.kind == Instructed }
}

// TestListsKept: RM-A7, RM-40: a member reports that it still sends under the oldest list, while the group changes
// all the time. The member is left behind, so that the others can drop the lists, and the manager has room for
// further nodes. The same holds for a member that also reports that it leaves, and goes on reporting.
func TestListsKept(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40", "RM-A11")
	const liar = 3
	for _, flags := range []wire.OrderFlags{0, wire.OrderLeaving} {
		w := parted(t, 5, 1)
		lie(w, liar, flags)
		g, m := w.hosts[0].g, w.hosts[1].m
		most, began := 0, g.stats.Lists
		for g.stats.Lists < began+400 {
			w.restart(2)
			w.run(200 * time.Millisecond)
			most = max(most, len(m.group.rosters), len(g.departed))
		}
		if g.stats.Silent == 0 || most > 2*maxKept {
			t.Errorf("up to %d lists and departed members are kept, %d members left behind", most, g.stats.Silent)
		}
		w.run(5 * time.Second)
		w.await(w.send(0, "x"))
		w.want("x", 0, 1, 2, 4)
	}
}

// TestLeaverKeepsSmall: RM-A7, RM-40, RM-A11: a member reports for ever that it leaves, and that it still sends under the
// oldest list. Its manager has heard it all the time. In a small group, a node that restarts often finds room again.
func TestLeaverKeepsSmall(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40", "RM-A11")
	w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) {
		w.managers, w.wall, w.rejoin, w.manager.MemberTimeout, w.manager.Members = 1, testWall, true, 5*time.Second, 8
	})
	w.form(5)
	lie(w, 3, wire.OrderLeaving)
	g := w.hosts[0].g
	for end := w.net.Now() + 12*time.Second; w.net.Now() < end; {
		w.restart(2)
		w.run(200 * time.Millisecond)
	}
	full := g.stats.Full
	w.run(10 * time.Second)
	if full == 0 || g.find(w.hosts[2].m.self) == nil || len(g.leavers) > 0 {
		t.Errorf("node 2 is %v, %d leave, %d requests found no room", w.hosts[2].m.state, len(g.leavers), full)
	}
}

// TestListsKeptSmall: RM-A7, RM-40: the acknowledgements of member 4 are lost, so messages of half of the members wait,
// and these members keep an old list in use. In a small group, the members that have departed since then take up all
// room before 64 lists have followed. The senders are left behind, so that a node that has restarted often can join
// again.
func TestListsKeptSmall(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40")
	for _, most := range []int{6, 8, 16} {
		w := newWorld(t, 6, func(w *world, _ *sim.Config[*packet]) {
			w.managers, w.wall, w.rejoin, w.manager.MemberTimeout, w.manager.Members = 1, testWall, true, 5*time.Second, most
		})
		w.form(6)
		w.run(time.Second)
		w.loss = func(from, to sim.NodeID, p *packet) bool { return from == 4 && to != 0 && p.kind != Instructed }
		longest := 0
		w.tap = func(_, _ sim.NodeID, p *packet) {
			if p.kind == Instructed {
				longest = max(longest, len(p.data))
			}
		}
		for _, id := range []sim.NodeID{1, 3, 5} {
			w.send(id, "x")
		}
		for range 40 {
			w.restart(2)
			w.run(200 * time.Millisecond)
		}
		w.run(10 * time.Second)
		if longest > buffer(most) {
			t.Errorf("room for %d: lists have up to %d bytes, and buffers %d", most, longest, buffer(most))
		}
		if g := w.hosts[0].g; len(g.members) != 6 {
			t.Errorf("room for %d: %d members, %d have departed, %d were left behind, %d requests found no room", most, len(g.members), len(g.departed), g.stats.Silent, g.stats.Full)
		}
	}
}

// TestLeaverServes: a member leaves, but still serves a message of another member, which waits for acknowledgements of
// member 4. Then a third member dies and is left behind. The leaving member is not left behind as well: the manager
// hears it, and it uses no list that is too old.
func TestLeaverServes(t *testing.T) {
	w := parted(t, 6, 1)
	w.loss = func(from, _ sim.NodeID, p *packet) bool { return from == 4 && has(p, wire.Ack) }
	w.send(1, "x")
	w.run(100 * time.Millisecond)
	w.net.Command(3, "leave")
	w.run(2 * time.Second)
	w.net.Kill(5)
	w.run(7 * time.Second)
	if g := w.hosts[0].g; g.stats.Failures != 1 || len(g.leavers) != 1 {
		t.Errorf("%d members failed, %d still leave", g.stats.Failures, len(g.leavers))
	}
}

// TestListsPaced: RM-A7, RM-40: a member uses the oldest list, and nodes restart by turns, one every 11 ms. Until that
// member is left behind, the manager publishes at most one list with the nodes that join in each Heartbeat, and one for
// each of these nodes that fails, at once. So members keep few lists.
func TestListsPaced(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40")
	const liar = 3
	for _, restarting := range [][]sim.NodeID{{2}, {2, 4}} {
		w := parted(t, 6, 1)
		lie(w, liar, 0)
		g, m := w.hosts[0].g, w.hosts[1].m
		most := 0
		for end := w.net.Now() + 12*time.Second; w.net.Now() < end; {
			for _, id := range restarting {
				w.net.Kill(id)
				w.run(time.Millisecond)
				w.net.Start(id, false)
				w.run(0)
				w.net.Command(id, "join")
				w.run(10 * time.Millisecond)
				most = max(most, len(m.group.rosters), len(g.departed))
			}
		}
		bound := maxKept + (1+len(restarting))*int(g.cfg.MemberTimeout/g.cfg.Heartbeat+1)
		if g.stats.Silent == 0 || most > bound {
			t.Errorf("%v restart: up to %d lists and departed members are kept, above %d; %d members left behind", restarting, most, bound, g.stats.Silent)
		}
		w.run(time.Second)
		w.await(w.send(0, "x"))
		w.want("x", 0, 1, 2, 4, 5)
	}
}

// TestJoinBesideFailures: RM-40: a member uses the oldest list, so the manager lets nodes join only once per Heartbeat.
// Members fail one after another, less than a Heartbeat apart. The lists about their failures do not delay a node that
// joins.
func TestJoinBesideFailures(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := newWorld(t, 9, func(w *world, _ *sim.Config[*packet]) {
		w.wall, w.rejoin, w.manager.MemberTimeout = testWall, true, -1
	})
	w.form(8)
	lie(w, 3, 0)
	for g := w.hosts[0].g; g.version.Counter <= 2*maxKept; {
		w.restart(2)
		w.run(100 * time.Millisecond)
	}
	w.run(time.Second)
	for id := 4; id < 7; id++ {
		w.net.Kill(sim.NodeID(id))
		w.net.Command(0, fmt.Sprint("dead ", id))
		if id == 4 {
			w.net.Command(8, "join")
		}
		w.run(400 * time.Millisecond)
	}
	if w.hosts[8].joined == 0 {
		t.Errorf("the node is %s", w.hosts[8].m.Status().State)
	}
}

// TestJoinNotPaced: RM-40: in a group whose members keep few lists, a node joins at once, also after many lists.
func TestJoinNotPaced(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := parted(t, 5, 1)
	g := w.hosts[0].g
	for g.version.Counter <= 2*maxKept {
		w.net.Kill(2)
		w.run(time.Millisecond)
		w.net.Start(2, false)
		w.run(0)
		w.net.Command(2, "join")
		w.run(10 * time.Millisecond)
		if s := w.hosts[2].m.Status().State; s != "member" {
			t.Fatalf("10 ms after its start the node is %s, after %d lists", s, g.version.Counter)
		}
	}
}
