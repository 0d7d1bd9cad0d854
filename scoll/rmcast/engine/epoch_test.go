package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// testWall is the wall clock at the start of a world in which incarnations and epochs are
// wall-clock times, in nanoseconds since 1970.
const testWall = 1_800_000_000_000_000_000

// clocked makes a group of n nodes whose incarnations and epochs are wall-clock times, as real
// ones are. Expelled nodes join again, as with agents.
func clocked(t *testing.T, n, managers int) *world {
	t.Helper()
	w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) { w.managers, w.wall, w.rejoin = managers, testWall, true })
	w.form(n)
	w.run(time.Second)
	return w
}

// inject makes a node receive a message as if another node had sent it, over its own
// connection or by multicast.
func (w *world) inject(to, from sim.NodeID, p *packet) {
	w.injected = append(w.injected, injection{from, p})
	w.net.Command(to, fmt.Sprint("inject ", len(w.injected)-1))
	w.run(0)
}

// order makes a node receive a message between members and managers.
func (w *world) order(to, from sim.NodeID, o *wire.Order) {
	w.inject(to, from, &packet{Instructed, o.AppendTo(nil), false})
}

// restart starts a node in its next incarnation.
func (w *world) restart(id sim.NodeID) {
	w.net.Kill(id)
	w.run(50 * time.Millisecond)
	w.net.Start(id, false)
	w.run(0)
	w.net.Command(id, "join")
}

// honest checks that within some time all nodes are members of one group, in which a message
// from each reaches each exactly once.
func (w *world) honest(after string, within time.Duration) {
	w.t.Helper()
	n := len(w.hosts)
	formed := func() bool {
		v := w.hosts[0].m.usable
		return !slices.ContainsFunc(w.hosts, func(h *host) bool {
			s := h.m.sender.stream
			return h.m.state != member || s == nil || s.roster.version != v || len(s.roster.peers) != n
		})
	}
	for end := w.net.Now() + within; !formed() && w.net.Now() < end; {
		w.run(50 * time.Millisecond)
	}
	if !formed() {
		for _, h := range w.hosts {
			w.t.Logf("node %d: %v, epoch %d, usable %v, %+v", h.id, h.m.state, h.m.epoch, h.m.usable, h.m.stats)
			if h.g != nil {
				w.t.Logf("    manager %v, epoch %d, version %v, %d members, %+v", h.g.role, h.g.epoch, h.g.version, len(h.g.members), h.g.stats)
			}
		}
		w.t.Fatalf("after %s: no group of all %d nodes within %v", after, n, within)
	}
	w.texts++
	var all []*sent
	for id := range w.hosts {
		all = append(all, w.send(sim.NodeID(id), fmt.Sprint("honest ", w.texts, " of ", id)))
	}
	for _, s := range all {
		if w.await(s); s.lost != nil || len(s.failed) > 0 {
			w.t.Errorf("after %s: %s: %v, failed %v", after, s.data, s.lost, s.failed)
		}
		w.want(s.data, w.all()...)
	}
}

// epochs are values that an attacker who knows the clock would choose.
func epochs(now time.Duration) []uint64 {
	wall := uint64(testWall) + uint64(now)
	return []uint64{^uint64(0), 1 << 63, 1 << 62, 1<<62 - 1, wall + uint64(10*366*24*time.Hour), wall + uint64(EpochSlack) - 1}
}

// TestReportedEpoch: RM-A9: if only one member reports an epoch, the manager goes on unchanged.
// After a restart that epoch does not separate the manager from its members.
func TestReportedEpoch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, managers := range []int{1, 3} {
		w := clocked(t, 5, managers)
		g := w.hosts[0].g
		version, epoch := g.version, g.epoch
		for _, e := range epochs(w.net.Now()) {
			for _, kind := range []wire.OrderKind{wire.OrderJoin, wire.OrderReport, wire.OrderKnown} {
				o := wire.Order{Kind: kind, Group: testGroup, Epoch: e, Incarnation: w.hosts[4].m.self.Incarnation}
				w.order(0, 4, &o)
				w.order(1, 4, &o)
			}
		}
		w.run(4 * time.Second)
		if g.role != active || g.epoch != epoch || g.version.Compare(version) < 0 {
			t.Errorf("%d managers: %v with epoch %d, was %d", managers, g.role, g.epoch, epoch)
		}
		w.honest("the reports", 5*time.Second)
		w.restart(0)
		w.honest("the manager's restart", 15*time.Second)
		w.restart(4)
		w.honest("the reporter's restart", 5*time.Second)
	}
}

// TestOrderedEpoch: RM-A9: an order with an epoch far above the wall clock is refused, also
// from a manager, which is told. An epoch within EpochSlack does not separate the members from
// the manager's next incarnation.
func TestOrderedEpoch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for i, e := range epochs(0) {
		w := clocked(t, 4, 1)
		h := w.hosts[2]
		for _, kind := range []wire.OrderKind{wire.OrderState, wire.OrderCollect} {
			o := wire.Order{Kind: kind, Group: testGroup, Epoch: e, Version: wire.Version{Epoch: e}, Incarnation: h.m.self.Incarnation}
			w.order(2, 0, &o)
		}
		if far := e > testWall+uint64(w.net.Now())+uint64(EpochSlack); far != (h.m.stats.Ahead == 2) || far == (h.m.epoch == e) {
			t.Errorf("epoch %d: epoch %d now, %+v", i, h.m.epoch, h.m.stats)
		}
		w.honest("the order", 30*time.Second)
		w.restart(0)
		w.honest("the manager's restart", 30*time.Second)
		w.restart(2)
		w.honest("the member's restart", 5*time.Second)
	}
}

// TestMajorityEpoch: RM-A9: a manager chooses an epoch above the one that most of its members
// report, and loses no member.
func TestMajorityEpoch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := clocked(t, 5, 1)
	g := w.hosts[0].g
	later := g.epoch + uint64(time.Hour)
	for id := sim.NodeID(1); id <= 3; id++ {
		if g.role != active || g.epoch >= later {
			t.Fatalf("%d of 5 members have it give way", id-1)
		}
		h := w.hosts[id]
		w.order(0, id, &wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: later, Version: g.version, Incarnation: h.m.self.Incarnation})
	}
	if g.role != standby {
		t.Fatal("most members do not have it give way")
	}
	w.run(3 * time.Second)
	if g.epoch <= later || g.stats.Failures > 0 {
		t.Errorf("epoch %d, want above %d; %+v", g.epoch, later, g.stats)
	}
	w.honest("the reports", 5*time.Second)
	w.restart(0)
	w.honest("the manager's restart", 15*time.Second)
}

// TestHeals: RM-A9: a member knows a later epoch than its manager's, and no manager of that
// epoch speaks any more. After a while it obeys its manager again, and stays the same member.
func TestHeals(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := clocked(t, 4, 3)
	h, later := w.hosts[3], w.hosts[0].g.epoch+uint64(time.Hour)
	w.order(3, 1, &wire.Order{Kind: wire.OrderState, Group: testGroup, Epoch: later, Version: wire.Version{Epoch: later}, Incarnation: h.m.self.Incarnation})
	w.run(9 * time.Second)
	if h.m.epoch != later || h.m.stats.Returned > 0 {
		t.Fatalf("it gives up early: epoch %d", h.m.epoch)
	}
	w.run(2 * time.Second)
	if h.m.stats.Returned != 1 || h.m.epoch >= later || len(h.gone) > 0 {
		t.Errorf("epoch %d, %+v", h.m.epoch, h.m.stats)
	}
	w.honest("a while", 5*time.Second)
}

// TestRefusedOrders: both sides are told why a node does not become a member. The notices are limited in rate: there
// is not one for each message.
func TestRefusedOrders(t *testing.T) {
	w := clocked(t, 3, 1)
	for _, tt := range []struct {
		name        string
		from        sim.NodeID
		incarnation uint64
		admit       admitted
		reason      wire.Refusal
	}{
		{"a stranger", 77, testWall, admitted{hostNID(1): true}, wire.RefusedStranger},
		{"an incarnation ahead", 1, testWall + uint64(EpochSlack) + uint64(time.Hour), nil, wire.RefusedAhead},
	} {
		g := w.hosts[0].g
		g.admitted, g.complaints = tt.admit, complaints{}
		told, replies := 0, 0
		for range 5 {
			var out Output
			o := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: tt.incarnation}
			g.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(tt.from), Data: o.AppendTo(nil)}, &out)
			for _, e := range out.Effects {
				if e.Kind == Refused && e.To == hostNID(tt.from) && errors.Is(e.Why, refusal(tt.reason)) {
					told++
				}
				if e.Kind != DoReport {
					continue
				}
				r, err := wire.ParseOrder(out.message(&e))
				if err == nil && e.To == hostNID(tt.from) && r.Kind == wire.OrderRefused && wire.Refusal(r.You) == tt.reason && r.Incarnation == tt.incarnation {
					replies++
				}
			}
		}
		if told != 1 || replies != 5 {
			t.Errorf("%s: told %d times, %d replies", tt.name, told, replies)
		}
	}
	m := New(Config{Self: hostNID(5), Incarnation: 7, Group: testGroup, Managers: []nid.NID{hostNID(0)}})
	var out Output
	m.Step(1, Input{Kind: Join}, &out)
	for range 3 {
		r := wire.Order{Kind: wire.OrderRefused, Group: testGroup, Epoch: 1, Version: wire.Version{Epoch: 1}, Incarnation: 7, You: uint32(wire.RefusedStranger)}
		m.Step(2, Input{Kind: Instructed, From: hostNID(0), Data: r.AppendTo(nil)}, &out)
	}
	denied := slices.DeleteFunc(slices.Clone(out.Effects), func(e Effect) bool { return e.Kind != Denied })
	if len(denied) != 1 || !errors.Is(denied[0].Why, ErrStranger) || m.stats.Denied != 3 || !errors.Is(m.Status().Refusal, ErrStranger) {
		t.Errorf("%+v, %+v", denied, m.stats)
	}
}
