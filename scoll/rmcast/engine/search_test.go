package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestJoinsAfterCanvass: RM-A9: a manager restarts, the other manager and most members are dead, and the manager asks the
// members that are left before any node wants to join. A node that asks later becomes a member all the same: the manager
// begins a group with it.
func TestJoinsAfterCanvass(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := parted(t, 6, 2)
	w.rejoin = false
	for _, id := range []sim.NodeID{0, 1, 4, 5} {
		w.net.Crash(id)
	}
	w.run(time.Second)
	w.net.Start(0, false)
	w.run(5 * time.Second)
	w.net.Start(5, false)
	w.run(0)
	w.net.Command(5, "join")
	w.run(20 * time.Second)
	if h := w.hosts[5]; h.m.state != member {
		t.Errorf("node 5 is %v, the manager %v, %+v", h.m.state, w.hosts[0].g.role, w.hosts[0].g.stats)
	}
}

// TestAnswersAfterPause: RM-A9: a manager stands still until after the time for answers is up. The first answer that it
// reads then names other members. Their answers wait to be read, too, and the manager reads them before it gives up.
func TestAnswersAfterPause(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}
	s.begin(1)
	s.g.Step(7*time.Second, Input{}, &s.out)
	for i, host := range list {
		s.answer(7*time.Second+time.Duration(i+1)*time.Millisecond, host, list)
	}
	s.publishes(t, list, nil)
	if s.g.stats.Alone > 0 {
		t.Error("the manager says that it hears too few members")
	}
}

// TestCanvassPauses: RM-A18: a manager stands still while it asks the members whether it may take over, until after the
// time for their answers is up. It reads the answers that wait before it says that it hears too few members.
func TestCanvassPauses(t *testing.T) {
	spec.Covers(t, "RM-A18")
	w := parted(t, 5, 2)
	w.net.Crash(0)
	g := w.hosts[1].g
	for len(g.collect.probes) == 0 {
		w.run(time.Millisecond)
	}
	if g.role != standby {
		t.Fatal("the manager has taken over already")
	}
	w.net.Pause(1)
	w.run(4 * time.Second)
	w.net.Resume(1)
	w.run(10 * time.Second)
	if g.role != active || g.stats.Alone > 0 {
		t.Errorf("the manager is %v, %+v", g.role, g.stats)
	}
}

// TestSlowJoinerNoMemberLeft: RM-A9: no member of an old list is left, and the only node that asks to join does so more
// rarely than the manager would take for a pause of its own. The node becomes a member.
func TestSlowJoinerNoMemberLeft(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := newWorld(t, 4, func(w *world, _ *sim.Config[*packet]) {
		w.managers, w.wall, w.cfg.ReportInterval = 1, testWall, 2500*time.Millisecond
	})
	w.form(4)
	w.run(5 * time.Second)
	for id := range sim.NodeID(3) {
		w.net.Crash(id)
	}
	w.run(time.Second)
	w.net.Start(0, false)
	w.run(8 * time.Second)
	if g := w.hosts[0].g; !g.alone {
		t.Fatal("the manager does not say that it hears too few members")
	}
	w.net.Crash(3)
	w.run(5 * time.Second)
	w.net.Start(2, false)
	w.run(0)
	w.net.Command(2, "join")
	w.run(20 * time.Second)
	if w.hosts[2].m.state != member {
		t.Errorf("node 2 is %v, %+v", w.hosts[2].m.state, w.hosts[0].g.stats)
	}
}

// TestJoinsInFailedSearch: RM-A9: one of two managers knows of no list, and asks a member of an old one. Meanwhile a node
// joins. The search finds no majority of the old list: the node stays, and the group begins with it. Members of the old list
// that are heard again soon are asked again, as most of them may be.
func TestJoinsInFailedSearch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s := newSearch()
	s.g.cfg.Managers = append(s.g.cfg.Managers, hostNID(98))
	s.begin(1)
	s.answer(2, 1, []sim.NodeID{1, 2, 3, 4, 5})
	s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{9}, nil)
	if s.g.role != active || s.g.stats.Alone > 0 {
		t.Errorf("the manager is %v, alone %v", s.g.role, s.g.alone)
	}
	s.told(s.g.now+s.g.cfg.Takeover, 1, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	if s.g.stats.Collections != 2 {
		t.Errorf("the manager has asked %d times", s.g.stats.Collections)
	}
}

// TestJoinsAfterVote: RM-A9: one of two managers asks the only member that has reported an old list whether it may take over,
// in vain. The next time the member allows it, but does not answer the search that follows. A node that joins during that
// search stays, and the group begins with it.
func TestJoinsAfterVote(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, now := newSearch(hostNID(98)), time.Duration(1)
	s.begin(1)
	for s.g.role == standby && now < 20*time.Second {
		if s.g.stats.Canvasses == 2 {
			o := wire.Order{Kind: wire.OrderKnown, Flags: wire.OrderVote, You: 1, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}, Window: 1}
			o.Members = []wire.Member{{ID: testID(1)}}
			s.told(now, 1, &o)
		}
		now = s.g.Step(now, Input{}, &s.out)
	}
	if s.g.stats.Alone != 1 {
		t.Fatalf("the manager is %v, %+v", s.g.role, s.g.stats)
	}
	s.told(now, 9, &wire.Order{Kind: wire.OrderJoin, Epoch: 500})
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{9}, nil)
}

// TestFirstReportAlone: RM-A9: the first member that reports to a restarted manager answers with a list of itself alone, before
// another one has reported. The manager waits until all members must have reported, and continues with the list that most of
// them have. So it does if a node has joined before.
func TestFirstReportAlone(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, joined := range []bool{false, true} {
		s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}
		if joined {
			s.told(1, 9, &wire.Order{Kind: wire.OrderJoin})
			s.hear(1, 9)
		}
		s.answerAs(testID(3))
		wake := s.g.Step(3, Input{}, &s.out)
		if wake > s.g.cfg.Heartbeat+3 {
			t.Errorf("the manager looks again at %v", wake)
		}
		now := s.g.cfg.Heartbeat * 9 / 10
		for _, host := range []sim.NodeID{1, 2, 4, 5} {
			s.told(now, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
		}
		for _, host := range []sim.NodeID{1, 2, 4, 5} {
			s.answer(now+1, host, list)
		}
		if joined {
			list = append(list, 9)
		}
		s.publishes(t, list, nil)
	}
}

// TestReportsAfterPause: RM-A9: as in TestFirstReportAlone, but the manager stands still after the first report until the time for
// others is up. Their reports wait to be read, and the manager reads them before it goes on.
func TestReportsAfterPause(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, pause := range []time.Duration{600 * time.Millisecond, 3 * time.Second} {
		s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5}
		s.report(testID(3))
		s.g.now += pause // of the next step
		s.say(testID(3), &wire.Order{})
		if wake := s.g.Step(s.g.now, Input{}, &s.out); wake < s.g.now+time.Millisecond {
			t.Errorf("at %v the manager looks again at %v", s.g.now, wake)
		}
		for _, host := range []sim.NodeID{1, 2, 4, 5} {
			s.told(s.g.now+time.Millisecond, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
		}
		for _, host := range []sim.NodeID{1, 2, 4, 5} {
			s.answer(s.g.now, host, list)
		}
		s.publishes(t, list, nil)
	}
}

// TestFullWhileSearching: RM-40: nodes ask to join while a new manager searches. The members that answer it take up room, so
// the group does not become larger than it may be.
func TestFullWhileSearching(t *testing.T) {
	spec.Covers(t, "RM-40")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4}
	s.g.cfg.Members = 4
	s.begin(list...)
	for _, host := range list[:3] {
		s.answer(2, host, list)
	}
	s.told(3, 9, &wire.Order{Kind: wire.OrderJoin})
	if s.g.stats.Full != 1 || len(s.g.members) > 0 {
		t.Errorf("%d requests found no room, %d nodes have joined", s.g.stats.Full, len(s.g.members))
	}
	s.answer(4, 4, list)
	s.publishes(t, list, nil)
}

// TestFullAfterSearch: RM-40: a node asks to join before the first of as many members as the group may have has answered a
// new manager. The node has to wait, so the group does not become larger than it may be.
func TestFullAfterSearch(t *testing.T) {
	spec.Covers(t, "RM-40")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4}
	s.g.cfg.Members = 4
	s.begin(1)
	s.told(2, 9, &wire.Order{Kind: wire.OrderJoin})
	for _, host := range list {
		s.answer(3, host, list)
	}
	if s.publishes(t, list, nil); s.g.stats.Full != 1 {
		t.Errorf("%d requests found no room", s.g.stats.Full)
	}
}
