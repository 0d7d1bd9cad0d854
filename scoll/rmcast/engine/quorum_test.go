package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// parted makes a group of n nodes, some of which are managers. Expelled nodes join again.
// Silent members are left behind after five seconds.
func parted(t *testing.T, n, managers int) *world {
	t.Helper()
	w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) {
		w.managers, w.wall, w.rejoin, w.manager.MemberTimeout = managers, testWall, true, 5*time.Second
	})
	w.form(n)
	w.run(time.Second)
	return w
}

// TestElection: RM-A18: only a majority of the members of a list elects a manager.
func TestElection(t *testing.T) {
	spec.Covers(t, "RM-A18")
	for _, tt := range []struct {
		name    string
		side    sim.NodeSet // nodes on the side of node 1; node 0 is the active manager
		elected bool
	}{
		{"most members", sim.Nodes(1, 2, 3), true},
		{"half of the members", sim.Nodes(1, 2), false},
		{"alone", sim.Nodes(1), false},
	} {
		w := parted(t, 5, 2)
		w.net.Partition(tt.side)
		w.run(20 * time.Second)
		if g := w.hosts[1].g; (g.role == active) != tt.elected || g.alone == tt.elected {
			t.Errorf("%s: %v, alone %v, %+v", tt.name, g.role, g.alone, g.stats)
		}
		if g := w.hosts[0].g; g.alone != tt.elected || g.role != active {
			t.Errorf("%s: the other one: %v, alone %v", tt.name, g.role, g.alone)
		}
		w.net.Heal()
		w.honest(tt.name, 15*time.Second)
		if ids := w.activeManagers(); len(ids) != 1 || (ids[0] == 1) != tt.elected {
			t.Errorf("%s: %v manage", tt.name, ids)
		}
	}
}

// TestWaitingNoVoter: RM-A18: while a node waits for its first list, a list about a failure is published without it.
// When all members of that list have it, they are the electorate. The next list has the node, but does not name it as a
// voter.
func TestWaitingNoVoter(t *testing.T) {
	spec.Covers(t, "RM-A18")
	w := newWorld(t, 6, nil)
	w.form(5)
	g := w.hosts[0].g
	w.net.Pause(4)
	w.net.Kill(3)
	w.net.Command(0, "dead 3")
	w.run(100 * time.Millisecond)
	w.net.Command(5, "join")
	w.run(100 * time.Millisecond)
	w.net.Kill(2)
	w.net.Command(0, "dead 2")
	w.run(100 * time.Millisecond)
	if n := len(g.latest.Members); n != 3 || len(g.members) != 4 {
		t.Fatalf("%d of %d members are on the list", n, len(g.members))
	}
	w.net.Resume(4)
	w.run(100 * time.Millisecond)
	o := &g.latest
	if n := len(o.Members); n != 4 || o.Members[3].Number < o.Voters || o.Of != 3 {
		t.Errorf("%d members: %v; voters below %d, %d of them", n, o.Members, o.Voters, o.Of)
	}
}

// votersAre checks which hosts have a member that the latest list names as a voter.
func (s *search) votersAre(t *testing.T, want ...sim.NodeID) {
	t.Helper()
	var got []sim.NodeID
	for _, m := range s.g.latest.Members {
		if m.Number < s.g.latest.Voters {
			got = append(got, hostID(m.NID))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) || int(s.g.latest.Of) != len(want) {
		t.Errorf("%d of %d vote, want %d; members %v", got, s.g.latest.Of, want, s.g.latest.Members)
	}
}

// TestJoinerNoVoter: RM-A18: nodes join while a new manager searches for the members of the group. They are on its
// first list, but not as voters: the next manager needs a majority of those that were members before.
func TestJoinerNoVoter(t *testing.T) {
	spec.Covers(t, "RM-A18")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.told(1, 7, &wire.Order{Kind: wire.OrderJoin}) // a group of its own, with the number of a member that is found later
	s.begin(list...)
	s.told(2, 8, &wire.Order{Kind: wire.OrderJoin})
	s.answer(3, 1, list)
	s.answer(3, 2, list)
	s.told(4, 9, &wire.Order{Kind: wire.OrderJoin})
	s.answer(5, 3, list)
	s.publishes(t, []sim.NodeID{1, 2, 3, 7, 8, 9}, nil)
	s.votersAre(t, list...)
}

// TestLaterListNoVoter: RM-A18: one member has a later list than the others, which also names nodes that do not answer
// a new manager. The manager continues from the list of the others. The member joins again, and is no voter until then,
// because it is not on that list.
func TestLaterListNoVoter(t *testing.T) {
	spec.Covers(t, "RM-A18")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(1, 2, 3, 4)
	for _, host := range list {
		s.answer(2, host, list)
	}
	o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: wire.Version{Epoch: 500, Counter: 4}, Window: 8, Voters: 4, Of: 3}
	for host := range sim.NodeID(8) {
		o.Members = append(o.Members, wire.Member{ID: testID(host + 1), Number: uint32(host + 1)})
	}
	s.told(3, 4, &o)
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, list, []sim.NodeID{4, 5, 6, 7, 8})
	s.votersAre(t, list...)
}

// TestNoChurn: RM-A18: a manager that all members hear stays, although the next manager does
// not hear it.
func TestNoChurn(t *testing.T) {
	spec.Covers(t, "RM-A18")
	w := parted(t, 5, 2)
	epoch := w.hosts[0].g.epoch
	w.net.Cut(sim.Nodes(0), sim.Nodes(1))
	w.run(8 * time.Second)
	w.net.Heal()
	w.run(2 * time.Second)
	if ids := w.activeManagers(); !slices.Equal(ids, []sim.NodeID{0}) || w.hosts[0].g.epoch != epoch {
		t.Errorf("%v manage, epoch %d, was %d", ids, w.hosts[0].g.epoch, epoch)
	}
	if s := w.hosts[1].g.stats; s.Canvasses == 0 {
		t.Errorf("it did not ask: %+v", s)
	}
	w.honest("the cut", time.Second)
}

// TestTwoMembers: a group has two members, and the active manager's node dies. The other member alone is no
// majority: its manager does not take over, and its message waits, until it is known that the dead member has
// ended.
func TestTwoMembers(t *testing.T) {
	for _, word := range []string{"expel 0", "dead 0", "", "back"} {
		w := parted(t, 2, 2)
		w.net.Crash(0)
		s := w.send(1, "x")
		w.run(20 * time.Second)
		if g := w.hosts[1].g; g.role == active || !g.alone || s.done {
			t.Fatalf("%v, alone %v, %+v", g.role, g.alone, s)
		}
		if _, err := w.hosts[1].m.Members(); !errors.Is(err, ErrQuorum) {
			t.Errorf("members: %v", err)
		}
		switch word {
		case "":
			w.run(time.Minute)
			if s.done {
				t.Error("it is released")
			}
			continue
		case "back":
			w.net.Start(0, false)
			w.net.Command(0, "join")
		default:
			w.net.Command(1, word)
		}
		if w.await(s); s.lost != nil || len(s.failed) != 1 {
			t.Errorf("%s: %v, failed %v", word, s.lost, s.failed)
		}
	}
}

// TestLeftBehind: a member that is silent for MemberTimeout is left behind, and messages that waited for it end with
// ErrSplit. The node joins again.
func TestLeftBehind(t *testing.T) {
	w := parted(t, 5, 1)
	gone := w.hosts[4].m.self
	w.net.Partition(sim.Nodes(4))
	s, mine := w.send(2, "x"), w.send(4, "y")
	w.run(4 * time.Second)
	if s.done {
		t.Fatal("released too early")
	}
	w.run(3 * time.Second)
	if !s.done || !errors.Is(s.lost, ErrSplit) || !slices.Equal(s.failed, []wire.ID{gone}) {
		t.Errorf("done %v, %v, failed %v", s.done, s.lost, s.failed)
	}
	w.want("x", 0, 1, 2, 3)
	if mine.done {
		t.Error("the one that is cut off has released a message")
	}
	w.net.Heal()
	w.honest("the partition", 15*time.Second)
	if !errors.Is(mine.lost, ErrExpelled) || w.hosts[4].m.self == gone {
		t.Errorf("%v, %v", mine.lost, w.hosts[4].m.self)
	}
	if st := w.hosts[0].g.stats; st.Silent != 1 || st.Alone > 0 {
		t.Errorf("%+v", st)
	}
}

// TestSilentMost: a manager that hears no majority of the members leaves no member behind and admits
// no node. When the silent members are back, all go on as before.
func TestSilentMost(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := parted(t, 6, 1)
	w.net.Partition(sim.Nodes(0, 1, 2))
	s := w.send(1, "x")
	w.run(30 * time.Second)
	if g := w.hosts[0].g; !g.alone || g.stats.Silent > 0 || s.done {
		t.Errorf("alone %v, %+v, done %v", g.alone, g.stats, s.done)
	}
	if h := w.hosts[1]; !errors.Is(h.m.refusal, ErrQuorum) {
		t.Errorf("a member hears %v", h.m.refusal)
	}
	w.restart(2)
	w.run(3 * time.Second)
	if h := w.hosts[2]; h.m.state != joining || !errors.Is(h.m.refusal, ErrQuorum) {
		t.Errorf("one joins: %v, %v", h.m.state, h.m.refusal)
	}
	w.net.Heal()
	if w.await(s); s.lost != nil {
		t.Error(s.lost)
	}
	w.honest("the partition", 5*time.Second)
	for id := sim.NodeID(3); id < 6; id++ {
		if len(w.hosts[id].gone) > 0 {
			t.Errorf("node %d had to join again", id)
		}
	}
}

// TestClusterRestarts: when all nodes of a cluster restart, they form a group again.
func TestClusterRestarts(t *testing.T) {
	for _, managers := range []int{1, 3} {
		w := parted(t, 5, managers)
		for id := range sim.NodeID(5) {
			w.net.Kill(id)
		}
		w.run(time.Second)
		for id := range sim.NodeID(5) {
			w.net.Start(id, false)
			w.run(100 * time.Millisecond)
			w.net.Command(id, "join")
		}
		w.honest("the restarts", 10*time.Second)
	}
}

// TestNoMemberLeft: RM-A9: a manager restarts, and most members do not answer it. A node that wants to join waits as long
// as one member reports. That member leaves, and no node knows of a list any more. Then nodes that join form a group.
func TestNoMemberLeft(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, managers := range []int{1, 2} {
		w := parted(t, 3, managers)
		w.rejoin = false
		w.net.Crash(0)
		w.net.Crash(2)
		w.run(time.Second)
		w.net.Start(0, false)
		w.run(5 * time.Second)
		w.net.Start(2, false)
		w.run(0)
		w.net.Command(2, "join")
		if w.run(10 * time.Second); managers == 1 && w.hosts[2].m.state != joining {
			t.Fatalf("node 2 is %v", w.hosts[2].m.state)
		}
		w.net.Command(1, "leave")
		if w.run(w.hosts[1].m.cfg.LeaveAfter); w.hosts[1].m.state != out {
			t.Fatalf("%d managers: node 1 is %v", managers, w.hosts[1].m.state)
		}
		w.net.Command(0, "join")
		w.net.Command(1, "join")
		w.honest("all have left", 30*time.Second)
	}
}

// TestTwoGroups: two managers have started independently. The manager that hears more members
// stays and loses no member, although the second manager has a later epoch. The members of the
// second manager join the first one. The result does not depend on whether the state or the
// list of the second manager arrives first.
func TestTwoGroups(t *testing.T) {
	for _, list := range []bool{false, true} {
		w := newWorld(t, 7, func(w *world, _ *sim.Config[*packet]) { w.managers, w.wall, w.rejoin = 2, testWall, true })
		w.run(0)
		w.net.Partition(sim.Nodes(1, 5, 6))
		for id := range w.hosts {
			w.net.Command(sim.NodeID(id), "join")
		}
		w.run(8 * time.Second)
		one, other := w.hosts[0].g, w.hosts[1].g
		if len(one.members) != 4 || len(other.members) != 3 || other.epoch <= one.epoch {
			t.Fatalf("list %v: %d and %d members, epochs %d and %d", list, len(one.members), len(other.members), one.epoch, other.epoch)
		}
		w.loss = func(from, to sim.NodeID, p *packet) bool {
			return list && from == 1 && to == 0 && p.kind == Instructed && wire.OrderKind(p.data[6]) == wire.OrderState
		}
		s := w.send(3, "x")
		w.net.Heal()
		w.honest("the partition", 20*time.Second)
		if s.lost != nil || one.role != active || len(w.hosts[2].gone)+len(w.hosts[3].gone)+len(w.hosts[4].gone) > 0 {
			t.Errorf("list %v: %v, %v, gone: %v %v %v", list, s.lost, one.role, w.hosts[2].gone, w.hosts[3].gone, w.hosts[4].gone)
		}
	}
}

// TestSilentJoiner: a node joins and does not acknowledge its first list. After FirstAck the manager drops the node, so
// that others can join. The node must wait before it can join again, longer each time.
func TestSilentJoiner(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) {
		w.loss = func(from, to sim.NodeID, p *packet) bool { // node 3 asks to join, but no answer reaches it
			return to == 3 || from == 3 && p.kind != Instructed
		}
	})
	w.form(3)
	w.net.Command(3, "join")
	w.run(time.Second)
	w.net.Command(4, "join")
	w.run(3 * time.Second)
	if g := w.hosts[0].g; g.stats.Unacknowledged > 0 || w.hosts[4].joined > 0 {
		t.Errorf("too early: %+v", g.stats)
	}
	w.await(w.send(1, "meanwhile"))
	w.run(3 * time.Second)
	g := w.hosts[0].g
	if g.stats.Unacknowledged == 0 || w.hosts[4].joined == 0 {
		t.Errorf("%+v, node 4 is %v", g.stats, w.hosts[4].m.state)
	}
	s := w.send(1, "x")
	if w.await(s); s.lost != nil || len(s.failed) > 0 {
		t.Errorf("%v, failed %v", s.lost, s.failed)
	}
	w.want("x", 0, 1, 2, 4)
	w.run(time.Minute)
	if n := g.stats.Unacknowledged; n < 3 || n > 6 {
		t.Errorf("dropped %d times in a minute", n)
	}
}

// TestJoinerBeforePause: RM-40: the manager stands still right after it has listed a node, for longer than FirstAck. It does
// not drop the node, whose acknowledgement waits to be read.
func TestJoinerBeforePause(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := newWorld(t, 4, nil)
	w.form(3)
	g, h := w.hosts[0].g, w.hosts[3]
	w.net.Command(3, "join")
	for len(g.latest.Members) < 4 {
		w.run(oneWay)
	}
	w.net.Pause(0)
	w.run(6 * time.Second)
	w.net.Resume(0)
	w.run(3 * time.Second)
	if g.stats.Unacknowledged > 0 || h.joined != 1 || len(h.gone) > 0 || g.find(h.m.self) == nil {
		t.Errorf("joined %d times, gone %v, %+v", h.joined, h.gone, g.stats)
	}
}

// TestFloors: a member with little memory does not lower the group's limit below
// LeastCapacity, and a node with too small datagrams (LeastFragment) is not admitted.
func TestFloors(t *testing.T) {
	spec.Covers(t, "RM-40")
	w := newWorld(t, 4, func(w *world, _ *sim.Config[*packet]) {
		w.manager.LeastFragment, w.manager.LeastCapacity = 1000, 50_000
		w.change = func(id sim.NodeID, cfg *Config) {
			cfg.Capacity = 100_000
			switch id {
			case 2:
				cfg.Capacity = 1
			case 3:
				cfg.MTU = wire.HeaderSize + 999
			}
		}
	})
	w.form(3)
	w.net.Command(3, "join")
	w.run(2 * time.Second)
	g := w.hosts[0].g
	if o := g.latest; o.Capacity != 50_000 || o.Flags&wire.OrderTree != 0 || len(o.Members) != 3 {
		t.Errorf("%+v", o)
	}
	if h := w.hosts[3]; h.m.state != joining || !errors.Is(h.m.refusal, ErrLimits) || g.stats.Limits == 0 {
		t.Errorf("%v, %v, %+v", h.m.state, h.m.refusal, g.stats)
	}
	// A member cannot change what it said when it joined.
	m := w.hosts[1].m
	w.order(0, 1, &wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: m.epoch, Version: g.version, Oldest: g.version, Incarnation: m.self.Incarnation, Capacity: 2})
	w.net.Command(2, "leave")
	w.run(2 * time.Second)
	if o := g.latest; o.MTU != 2048 || o.Capacity < 50_000 || o.Flags&wire.OrderTree != 0 {
		t.Errorf("%+v", o)
	}
}

// TestLateManager: RM-A9: a manager was paused while it collected what members know. It does
// not continue with these answers, because the members did not have to keep their promise for
// so long.
func TestLateManager(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := parted(t, 5, 2)
	w.net.Crash(0)
	g := w.hosts[1].g
	for g.role != active {
		w.run(time.Millisecond)
	}
	w.net.Pause(1)
	w.run(30 * time.Second)
	epoch := g.epoch
	w.net.Resume(1)
	w.run(100 * time.Millisecond)
	if g.version.IsValid() && g.epoch == epoch {
		t.Errorf("it has published %v", g.version)
	}
}

// TestManagerPausesInSearch: RM-A9: a manager is paused while it waits for the answers of members, until after the time
// for them is up. One answer arrives during the pause. The manager reads it before it leaves behind the members that have
// not answered. After a pause that is too long for the promises of members, the manager asks again.
func TestManagerPausesInSearch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, pause := range []time.Duration{2 * time.Second, 5 * time.Second, 7 * time.Second, 8 * time.Second} {
		w := parted(t, 5, 2)
		w.net.SetLink(sim.Nodes(4), sim.Nodes(1), link.Change{Fields: link.FieldLatency, To: link.Quality{Latency: link.Dist{Base: 20 * time.Millisecond}}})
		w.net.Crash(0)
		g := w.hosts[1].g
		for g.role != active {
			w.run(time.Millisecond)
		}
		w.run(5 * time.Millisecond)
		w.net.Pause(1)
		w.run(pause)
		w.net.Resume(1)
		w.run(15 * time.Second)
		if h := w.hosts[4]; len(h.gone) > 0 || g.find(h.m.self) == nil || len(g.latest.Members) != 4 {
			t.Errorf("after %v node 4 is %v, gone %v, the list has %d members", pause, h.m.state, h.gone, len(g.latest.Members))
		}
	}
}
