package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// TestDoubtedDeaths: RM-28, RM-A18: the active manager, or one on standby, is in a minority, and discovery there
// reports the members of the majority as dead. As long as these deaths are not certain, the manager does not go on
// without the members.
func TestDoubtedDeaths(t *testing.T) {
	spec.Covers(t, "RM-28", "RM-A18")
	for _, manager := range []sim.NodeID{0, 1} {
		w := parted(t, 5, 2)
		w.net.Partition(sim.Nodes(manager, 4))
		s := w.send(4, "x")
		for id := range 4 {
			if sim.NodeID(id) != manager {
				w.net.Command(manager, fmt.Sprintf("doubted %d", id))
				w.run(time.Second)
			}
		}
		w.run(20 * time.Second)
		if g := w.hosts[manager].g; !g.alone || s.done || len(g.Doubted()) != 3 {
			t.Errorf("manager %v: alone %v, doubted %v, %+v", manager, g.alone, g.Doubted(), s)
		}
	}
}

// TestDoubtBegan: RM-A8: a manager, active or on standby, remembers when it first heard of the incarnation of a node
// whose death is doubted. Further reports of that incarnation do not change this time.
func TestDoubtBegan(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := parted(t, 4, 2)
	w.run(3 * time.Second)
	before := w.net.Now()
	w.restart(3)
	w.run(3 * time.Second)
	after := w.net.Now()
	w.run(3 * time.Second)
	for _, manager := range []sim.NodeID{0, 1} {
		w.net.Command(manager, "doubted 2")
		w.net.Command(manager, "doubted 3")
		w.run(0)
		list := w.hosts[manager].g.Doubted()
		if len(list) != 2 || list[0].Began >= before || list[1].Began < before || list[1].Began > after {
			t.Errorf("manager %v, node 3 restarted at %v: %+v", manager, before, list)
		}
		began := w.hosts[manager].g.began
		delete(began, hostNID(3))
		if list := w.hosts[manager].g.Doubted(); list[1].Began != unheard {
			t.Errorf("manager %v has never heard node 3: %+v", manager, list)
		}
	}
}

// TestDoubtHeard: RM-28: gossip was stopped on the node of a member, so gossip elsewhere is certain of the node's
// death. The member goes on reporting, and stays a member: the manager doubts the death until the member is silent for
// Takeover.
func TestDoubtHeard(t *testing.T) {
	spec.Covers(t, "RM-28")
	w := parted(t, 4, 1)
	g := w.hosts[0].g
	w.net.Command(0, "doubted 3")
	for range 10 {
		w.net.Command(0, "ended 3")
		if w.run(time.Second); len(g.members) != 4 || len(g.Doubted()) != 1 {
			t.Fatalf("doubted %v, %d members", g.Doubted(), len(g.members))
		}
	}
	w.net.Crash(3)
	w.run(g.cfg.Takeover)
	w.net.Command(0, "ended 3")
	if w.run(time.Second); len(g.members) != 3 || len(g.Doubted()) > 0 {
		t.Errorf("doubted %v, %d members", g.Doubted(), len(g.members))
	}
	if g.Doubts() {
		t.Error("a death is doubted although it is certain")
	}
}

// TestDoubtPaused: RM-28: gossip was stopped on the node of a member, so discovery reports the node's death as
// certain. The manager's process was stopped for longer than Takeover. When it runs again, that report comes
// before the member's own reports, and has no effect.
func TestDoubtPaused(t *testing.T) {
	spec.Covers(t, "RM-28")
	w := parted(t, 4, 1)
	g := w.hosts[0].g
	w.net.Command(0, "doubted 3")
	w.run(time.Second)
	var out Output
	resumed := w.net.Now() + g.cfg.Takeover + time.Second
	for at := time.Duration(0); at < g.cfg.Takeover; at += g.cfg.Heartbeat { // no reports come
		g.Step(resumed+at, Input{Kind: Ended, From: hostNID(3)}, &out)
		if len(g.members) != 4 || len(g.Doubted()) != 1 {
			t.Fatalf("%v after the pause: doubted %v, %d members", at, g.Doubted(), len(g.members))
		}
	}
	if g.Step(resumed+g.cfg.Takeover, Input{Kind: Ended, From: hostNID(3)}, &out); len(g.members) != 3 {
		t.Errorf("%d members", len(g.members))
	}
}

// TestDoubtedMembers: RM-28: Doubted returns only deaths that matter: those of managers and of nodes with a member,
// and that of another node when a member on it is asked, or may have been left behind.
func TestDoubtedMembers(t *testing.T) {
	spec.Covers(t, "RM-28")
	w := parted(t, 4, 2)
	w.run(3 * time.Second)
	for _, manager := range []sim.NodeID{0, 1} {
		g := w.hosts[manager].g
		stranger := nid.FromNumber(nid.MakeNet(nid.TCP, 0), 0x7F000001)
		var out Output
		for _, id := range []nid.NID{stranger, hostNID(1 - manager), hostNID(3)} {
			g.Step(w.net.Now(), Input{Kind: Health, From: id, Doubt: true}, &out)
		}
		if list := g.Doubted(); len(list) != 2 || list[0].Node != hostNID(1-manager) || list[1].Node != hostNID(3) {
			t.Errorf("manager %v: %+v", manager, list)
		}
		g.collect.ballots = []ballot{{silent: []wire.ID{{NID: stranger, Incarnation: 1}}}} // left behind by the manager of a list that a member reports
		if list := g.Doubted(); len(list) != 3 {
			t.Errorf("manager %v, in a search: %+v", manager, list)
		}
		g.collect.ballots = nil
		g.now, g.out = w.net.Now(), &out
		g.ask(wire.Member{ID: wire.ID{NID: stranger, Incarnation: 1}}, 1)
		if list := g.Doubted(); len(list) != 3 || !g.Doubts() {
			t.Errorf("manager %v: %+v", manager, list)
		}
	}
}

// TestDoubtEnds: RM-28: a death that was doubted counts once it is certain, but not if the node was heard since.
func TestDoubtEnds(t *testing.T) {
	spec.Covers(t, "RM-28")
	w := parted(t, 4, 1)
	g := w.hosts[0].g
	w.net.Crash(2)
	w.run(g.cfg.Takeover)
	w.net.Command(0, "doubted 3")
	w.net.Command(0, "doubted 2")
	if w.run(time.Second); !slices.EqualFunc(g.Doubted(), []nid.NID{hostNID(2), hostNID(3)}, func(d Doubt, id nid.NID) bool { return d.Node == id }) || len(g.members) != 4 {
		t.Errorf("doubted %v, %d members", g.Doubted(), len(g.members))
	}
	w.net.Command(0, "ended 2")
	if w.run(time.Second); len(g.Doubted()) != 1 || len(g.members) != 3 {
		t.Errorf("doubted %v, %d members", g.Doubted(), len(g.members))
	}
	w.restart(3)
	w.run(3 * time.Second)
	failures := g.stats.Failures
	w.net.Command(0, "ended 3")
	if w.run(time.Second); len(g.Doubted()) > 0 || len(g.members) != 3 {
		t.Errorf("doubted %v, %d members", g.Doubted(), len(g.members))
	}
	w.net.Crash(3)
	w.run(g.cfg.Takeover)
	w.net.Command(0, "doubted 3")
	w.net.Command(0, "alive 3")
	w.net.Command(0, "ended 3")
	if w.run(time.Second); len(g.members) != 3 || g.stats.Failures != failures {
		t.Errorf("%d members, %d failures, want %d", len(g.members), g.stats.Failures, failures)
	}
}

// TestJoinLatePaused: RM-A8: the manager did not run for longer than Takeover. A late request to join of an earlier incarnation
// of a node comes before the reports of that time, and does not end the member that the node has now.
func TestJoinLatePaused(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := parted(t, 4, 1)
	g := w.hosts[0].g
	now := g.members[3]
	late := wire.Order{Kind: wire.OrderJoin, Group: g.cfg.Group, Incarnation: now.Incarnation - 1, MTU: 4096}
	var out Output
	resumed := w.net.Now() + g.cfg.Takeover + time.Second
	for at := time.Duration(0); at < g.cfg.Takeover; at += g.cfg.Heartbeat { // no reports come
		if g.Step(resumed+at, Input{Kind: Instructed, From: now.NID, Data: late.AppendTo(nil)}, &out); len(g.members) != 4 || g.members[3] != now {
			t.Fatalf("%v after the pause: the member has ended", at)
		}
	}
}

// TestRejoinPaused: RM-A8: the manager has not run for longer than Takeover. It handles two late copies of a member's
// own request to join before the reports that came during the pause. It does not expel the member, unless such requests
// go on and no report comes.
func TestRejoinPaused(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := parted(t, 4, 1)
	g := w.hosts[0].g
	m := g.members[3]
	late := wire.Order{Kind: wire.OrderJoin, Group: g.cfg.Group, Incarnation: m.Incarnation, MTU: 4096}
	var out Output
	now := w.net.Now()
	step := func(after time.Duration) bool {
		now += after
		out.Reset()
		g.Step(now, Input{Kind: Instructed, From: m.NID, Data: late.AppendTo(nil)}, &out)
		return slices.ContainsFunc(out.Effects, func(e Effect) bool {
			o, err := wire.ParseOrder(out.Buf[e.Head.Begin:e.Head.End])
			return e.Kind == DoReport && err == nil && o.Kind == wire.OrderExpelled
		})
	}
	if step(0) || step(g.cfg.Takeover) || step(g.cfg.Heartbeat) {
		t.Error("the member is expelled")
	}
	now += g.cfg.Takeover
	g.Step(now, Input{}, &out) // the timer comes first after another pause
	if step(0) {
		t.Error("the member is expelled after the timer")
	}
	expelled := false
	for at := time.Duration(0); at < g.cfg.Takeover/2; at += g.cfg.Heartbeat { // the requests go on, and no report comes
		expelled = step(g.cfg.Heartbeat)
	}
	if !expelled {
		t.Error("a new member with the same ID is not expelled")
	}
}
