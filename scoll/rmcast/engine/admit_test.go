package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestStrangers: a node that may not be a member becomes neither a member nor an origin.
// Members send no requests on its behalf, and keep nothing of it.
func TestStrangers(t *testing.T) {
	spec.Covers(t, "RM-38")
	w := newWorld(t, 4, func(w *world, _ *sim.Config[*packet]) {
		w.cfg.Admit = append(w.cfg.Admit, hostNID(1), hostNID(2), hostNID(3))
		w.manager.Admit = w.cfg.Admit
	})
	w.form(4)
	w.await(w.send(1, "before"))
	w.run(time.Second)
	h, g := w.hosts[2], w.hosts[0].g
	later := h.m.group.latest().version
	later.Counter++
	list := g.published()
	list.Version = later
	known := wire.AppendControl(nil, testGroup, later, []wire.Entry{{Kind: wire.Expelled, Version: later, Origin: 1}})
	d := wire.Datagram{Group: testGroup, Version: later, Origin: 1, Length: 4, Seq: 9, Count: 1, Size: 4, Stable: 9, First: 9}
	datagram := append(d.AppendTo(nil), "evil"...)
	said := 0
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if o, err := wire.ParseOrder(p.data); from == 2 && (err != nil || o.Flags&wire.OrderAsking != 0) {
			said++
		}
	}
	const stranger = 77
	for range 50 {
		for _, kind := range []wire.OrderKind{wire.OrderJoin, wire.OrderReport, wire.OrderKnown} {
			o := wire.Order{Kind: kind, Group: testGroup, Incarnation: 1, Epoch: g.epoch, Version: g.version, MTU: 2048}
			w.order(0, stranger, &o)
			o.Members = list.Members
			w.order(0, stranger, &o)
		}
		w.order(2, stranger, &list)
		w.inject(2, stranger, &packet{Control, known, false})
		w.inject(2, stranger, &packet{Arrival, datagram, false})
		w.inject(2, stranger, &packet{Arrival, datagram, true})
	}
	w.run(time.Second)
	if len(g.members) != 4 || g.version != h.m.group.latest().version || g.stats.Stranger != 300 || g.role != active {
		t.Errorf("%d members, version %v, %+v", len(g.members), g.version, g.stats)
	}
	if said > 0 || len(h.m.held) > 0 || h.m.stats.Stranger != 200 || len(h.m.streams) != 4 && len(h.m.streams) != 2 {
		t.Errorf("%d messages, %d held, %d streams, %+v", said, len(h.m.held), len(h.m.streams), h.m.stats)
	}
	w.tap = nil
	w.await(w.send(3, "after"))
	w.want("after", w.all()...)
}

// TestMemoryOfOrigins: an origin takes memory only when it sends. Where any node may join,
// there is a common bound with a guaranteed share for each origin, and all messages arrive.
func TestMemoryOfOrigins(t *testing.T) {
	spec.Covers(t, "RM-38")
	const window, fragment = 8, 100
	w := newWorld(t, 12, func(w *world, _ *sim.Config[*packet]) {
		w.manager = ManagerConfig{Window: window, Fragment: fragment}
		w.cfg.Memory = 12 * fragment
	})
	w.form(12)
	h := w.hosts[2]
	if h.m.kept != 0 {
		t.Errorf("%d bytes before there is a message", h.m.kept)
	}
	most := 0
	w.onDeliver = func(*host, got) { most = max(most, h.m.kept) }
	var all []*sent
	for round := range 5 {
		for id := range sim.NodeID(12) {
			w.net.Command(id, long(10+20*round)+string(rune('a'+id)))
		}
		w.run(0)
	}
	w.run(20 * time.Second)
	for _, other := range w.hosts {
		all = append(all, other.sent...)
	}
	for _, s := range all {
		if w.await(s); s.lost != nil {
			t.Error(s.lost)
		}
		w.want(s.data, w.all()...)
	}
	if most > 2*w.cfg.Memory || h.m.kept > 0 || h.m.stats.NoMemory == 0 || len(all) != 60 {
		t.Errorf("%d bytes, bound %d; %d messages; %+v", most, w.cfg.Memory, len(all), h.m.stats)
	}
}
