package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// renew replaces the member of a node by a new one with the same ID, as a program does that closes its agent while no
// manager hears it, and starts another one. The new member joins.
func (w *world) renew(id sim.NodeID) {
	h := w.hosts[id]
	h.m = New(h.m.cfg)
	w.net.Command(id, "join")
}

// spoken makes a group of n nodes, each of which has sent some messages.
func spoken(t *testing.T, n, managers int) *world {
	t.Helper()
	w := clocked(t, n, managers)
	for range 3 {
		w.honest("the start", time.Second)
	}
	return w
}

// TestSameID: RM-2, RM-A8: a new member with the ID of one that the manager still lists numbers its messages from 1
// on, as the earlier one did. It becomes a member with another ID, so that others do not take its messages for copies
// of earlier ones, and acknowledge them without having delivered them.
func TestSameID(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	for name, meanwhile := range map[string]func(w *world){ // any order: the worlds are independent
		"alone":                   func(*world) {},
		"with another list":       func(w *world) { w.restart(3) },
		"before the old one ends": func(w *world) { w.net.Command(2, "leave"); w.renew(2) },
	} {
		w := spoken(t, 5, 1)
		before := w.hosts[2].m.self
		w.renew(2)
		meanwhile(w)
		w.honest(name, 15*time.Second)
		if after := w.hosts[2].m.self; after == before {
			t.Errorf("%s: the node is %v again", name, after)
		}
	}
}

// TestSameIDSearch: RM-A8: a new member with the ID of an earlier one joins while a new manager searches for members,
// and others have named the earlier one. It becomes a member with another ID, and is not told that it was expelled,
// since it has not been a member.
func TestSameIDSearch(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := spoken(t, 5, 1)
	h, before := w.hosts[2], w.hosts[2].m.self
	h.m = New(h.m.cfg)
	w.net.Crash(0)
	w.net.Start(0, false)
	for range 2000 {
		if w.run(oneWay); w.hosts[0].g.collect.probe(before) != nil {
			break
		}
	}
	w.net.Command(0, "join")
	w.net.Command(2, "join")
	w.honest("the search", 15*time.Second)
	if after := h.m.self; after == before || len(h.gone) > 0 {
		t.Errorf("the node was %v, and is %v, gone %v", before, after, h.gone)
	}
}

// TestJoinArrivesLate: RM-14: a late request to join, or several at once, do not end a member that reports.
func TestJoinArrivesLate(t *testing.T) {
	spec.Covers(t, "RM-14", "RM-A8")
	w := spoken(t, 4, 1)
	h, g := w.hosts[2], w.hosts[0].g
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: h.m.self.Incarnation, MTU: 2048}
	for i := range 20 {
		w.order(0, 2, &join)
		w.order(0, 2, &join)
		w.run(time.Duration(i) * 50 * time.Millisecond)
	}
	if len(h.gone) > 0 || g.stats.Failures > 0 {
		t.Errorf("gone %v, %+v", h.gone, g.stats)
	}
	w.honest("the requests", time.Second)
}

// TestFirstListLost: RM-14: the list that answers a request to join is lost, or its acknowledgement is. The manager
// sends it again, and the node becomes a member with the incarnation with which it has joined.
func TestFirstListLost(t *testing.T) {
	spec.Covers(t, "RM-14")
	for _, kind := range []wire.OrderKind{wire.OrderList, wire.OrderReport} {
		w := newWorld(t, 3, func(w *world, _ *sim.Config[*packet]) { w.wall, w.rejoin = testWall, true })
		lost := 0
		w.loss = func(_, _ sim.NodeID, p *packet) bool {
			o, err := wire.ParseOrder(p.data)
			if p.kind != Instructed || err != nil || o.Kind != kind || lost == 5 {
				return false
			}
			lost++
			return true
		}
		w.form(3)
		if lost < 5 || slices.ContainsFunc(w.hosts, func(h *host) bool { return len(h.gone) > 0 }) {
			t.Errorf("%v: %d lost", kind, lost)
		}
		w.honest(fmt.Sprint("the loss of ", kind), time.Second)
	}
}
