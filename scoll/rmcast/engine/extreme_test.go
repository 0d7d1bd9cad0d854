package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// extreme values of fields of 64, 32 and 16 bits.
var (
	extreme64 = []uint64{0, 1, 1 << 62, 1<<62 + 1, 1 << 63, 1<<64 - 1}
	extreme32 = []uint32{0, 1, 1 << 31, 1<<32 - 1}
	extreme16 = []uint16{0, 1, 1<<16 - 1}
)

// attempt is a message with an extreme value in one field.
type attempt struct {
	name     string
	to, from sim.NodeID
	p        *packet
}

// TestExtremeFields: one field of a message has an extreme value. The message comes from a
// member, from the manager or, by multicast, from an attacker in the name of an origin. Then
// two nodes restart: the one that received it, and the one in whose name it was sent. After that
// all messages reach all members exactly once.
func TestExtremeFields(t *testing.T) {
	for name, make := range map[string]func(w *world) []attempt{
		"datagram": extremeDatagrams, "entry": extremeEntries, "to the manager": extremeReports, "to a member": extremeOrders,
	} {
		t.Run(name, func(t *testing.T) {
			for i := range make(begun(t)) {
				if !effort.Long() && (i+i/5)%5 != 0 {
					continue // most messages are skipped, because each takes some seconds of simulated time
				}
				w := begun(t)
				a := make(w)[i]
				w.inject(a.to, a.from, a.p)
				w.run(100 * time.Millisecond)
				w.restart(a.to)
				w.honest(a.name+", and the restart of who took it", 25*time.Second)
				w.restart(a.from)
				w.honest(a.name+", and the restart of its sender", 15*time.Second)
				if t.Failed() {
					t.Fatal(a.name)
				}
			}
		})
	}
}

// TestExtremeDatagramsStay: datagrams that an attacker multicasts in the name of an origin do
// not keep the messages of that origin from any member, also without a restart.
func TestExtremeDatagramsStay(t *testing.T) {
	spec.Covers(t, "RM-39")
	for i := range 2 * len(extremeDatagrams(begun(t))) {
		w := begun(t)
		if i%2 == 1 { // node 3 comes back: a new roster, in whose version the origin has sent nothing yet
			w.restart(3)
			w.run(3 * time.Second)
		}
		a := extremeDatagrams(w)[i/2]
		telling := strings.Contains(a.name, "fragment") || strings.Contains(a.name, "stable") || strings.Contains(a.name, "first")
		if !a.p.cast || !effort.Long() && !telling && (i+i/5)%5 != 0 {
			continue
		}
		w.inject(a.to, a.from, a.p)
		w.run(100 * time.Millisecond)
		before := len(w.hosts[a.to].got)
		w.honest(a.name, 5*time.Second)
		for _, g := range w.hosts[a.to].got[before:] {
			if !slices.ContainsFunc(w.sentTexts(), func(s string) bool { return s == g.data }) {
				t.Errorf("%s: %q is delivered", a.name, g.data)
			}
		}
	}
}

// begun makes a group in which node 1 has sent a message.
func begun(t *testing.T) *world {
	t.Helper()
	w := clocked(t, 4, 1)
	w.await(w.send(1, "before"))
	return w
}

func (w *world) sentTexts() (list []string) {
	for _, h := range w.hosts {
		for _, s := range h.sent {
			list = append(list, s.data)
		}
	}
	return list
}

// extremeDatagrams returns datagrams to node 2 in the name of node 1, by multicast and by a connection, each
// with an extreme value.
func extremeDatagrams(w *world) (list []attempt) {
	s, v := w.hosts[2].m.group.byID[w.hosts[1].m.self].stream, w.hosts[2].m.group.latest().version
	add := func(name string, change func(d *wire.Datagram)) {
		for _, cast := range []bool{true, false} {
			d := wire.Datagram{
				Group: testGroup, Version: v, Origin: s.number(), Length: 4, Seq: s.head + 9, Count: 1, Size: 4, Stable: s.stable, First: s.first,
			}
			change(&d)
			data := append(d.AppendTo(nil), "evil"[:min(d.Size, 4)]...)
			list = append(list, attempt{fmt.Sprintf("datagram %s, multicast %v", name, cast), 2, 1, &packet{Arrival, data, cast}})
		}
	}
	for _, v := range extreme64 {
		add(fmt.Sprintf("epoch %x", v), func(d *wire.Datagram) { d.Version.Epoch = v })
		add(fmt.Sprintf("counter %x", v), func(d *wire.Datagram) { d.Version.Counter = v })
		add(fmt.Sprintf("seq %x", v), func(d *wire.Datagram) { d.Seq = v })
		add(fmt.Sprintf("stable %x", v), func(d *wire.Datagram) { d.Stable = v; d.Seq = max(d.Seq, v) })
		add(fmt.Sprintf("first %x", v), func(d *wire.Datagram) { d.First = v; d.Stable, d.Seq = max(d.Stable, v), max(d.Seq, v) })
	}
	for _, v := range extreme32 {
		add(fmt.Sprintf("origin %x", v), func(d *wire.Datagram) { d.Origin = v })
		add(fmt.Sprintf("length %x", v), func(d *wire.Datagram) { d.Length = v })
		add(fmt.Sprintf("flags %x", v), func(d *wire.Datagram) { d.Flags = wire.DatagramFlags(v) })
		add(fmt.Sprintf("size %x", v), func(d *wire.Datagram) { d.Size = v })
	}
	for _, v := range extreme16 {
		add(fmt.Sprintf("index %x", v), func(d *wire.Datagram) { d.Index = v; d.Count = max(d.Count, v) })
		add(fmt.Sprintf("count %x", v), func(d *wire.Datagram) { d.Count = v })
		add(fmt.Sprintf("fragments %x", v), func(d *wire.Datagram) { // the other fragments of the message never arrive
			d.Count, d.Length, d.Size, d.Seq = v, uint32(v)*uint32(s.roster.fragment), uint32(s.roster.fragment), s.head
		})
	}
	add("two fragments", func(d *wire.Datagram) {
		d.Count, d.Length, d.Size, d.Seq = 2, uint32(s.roster.fragment)+4, 4, s.head+1
		d.Index = 1
	})
	return list
}

// extremeEntries returns control entries that are about the messages of node 1. Each comes twice:
// from node 1, the origin, to node 2, and from node 2, a member, to node 1.
func extremeEntries(w *world) (list []attempt) {
	s := w.hosts[2].m.group.byID[w.hosts[1].m.self].stream
	add := func(name string, known wire.Version, change func(e *wire.Entry)) {
		for kind := wire.Ack; kind <= wire.LastEntry; kind++ {
			e := s.entry(kind, s.stable, 1)
			change(&e)
			data := wire.AppendControl(nil, testGroup, known, []wire.Entry{e})
			list = append(list, attempt{fmt.Sprintf("%v of the origin, %s", kind, name), 2, 1, &packet{Control, data, false}},
				attempt{fmt.Sprintf("%v of a member, %s", kind, name), 1, 2, &packet{Control, data, false}})
		}
	}
	for _, v := range extreme64 {
		add(fmt.Sprintf("first %x", v), wire.Version{}, func(e *wire.Entry) { e.First = v })
		add(fmt.Sprintf("stable %x", v), wire.Version{}, func(e *wire.Entry) { e.Stable = v })
		add(fmt.Sprintf("epoch %x", v), wire.Version{}, func(e *wire.Entry) { e.Version.Epoch = v })
		add(fmt.Sprintf("counter %x", v), wire.Version{}, func(e *wire.Entry) { e.Version.Counter = v })
		add(fmt.Sprintf("known epoch %x", v), wire.Version{Epoch: v, Counter: 1}, func(*wire.Entry) {})
		add(fmt.Sprintf("known counter %x", v), wire.Version{Epoch: s.roster.version.Epoch, Counter: v}, func(*wire.Entry) {})
	}
	for _, v := range extreme32 {
		add(fmt.Sprintf("count %x", v), wire.Version{}, func(e *wire.Entry) { e.Count = v })
		add(fmt.Sprintf("origin %x", v), wire.Version{}, func(e *wire.Entry) { e.Origin = v })
		add(fmt.Sprintf("who %x", v), wire.Version{}, func(e *wire.Entry) { e.Member = v })
	}
	for _, v := range extreme16 {
		add(fmt.Sprintf("repairs %x", v), wire.Version{}, func(e *wire.Entry) { e.Repairs = v })
	}
	for _, kind := range []wire.EntryKind{wire.Ack, wire.Pending, wire.Need, wire.Poll} {
		for _, v := range []wire.EntryFlags{wire.FlagAnswer, wire.FlagNeedless, wire.FlagAtOnce, 0xFF} {
			add(fmt.Sprintf("kind %v, flags %x", kind, v), wire.Version{}, func(e *wire.Entry) { e.Kind, e.Flags = kind, v })
		}
	}
	return list
}

// slack returns the highest incarnation or epoch that is accepted now: EpochSlack above the clock.
func slack(w *world) uint64 { return testWall + uint64(w.net.Now()) + uint64(EpochSlack) - 1 }

// extremeReports returns messages of node 2, a member, to the manager, each with an extreme value.
func extremeReports(w *world) (list []attempt) {
	g, m := w.hosts[0].g, w.hosts[2].m
	add := func(name string, change func(o *wire.Order)) {
		for _, kind := range []wire.OrderKind{wire.OrderJoin, wire.OrderReport, wire.OrderKnown} {
			o := wire.Order{Kind: kind, Group: testGroup, Epoch: g.epoch, Version: g.version, Oldest: g.version, Incarnation: m.self.Incarnation, MTU: 2048}
			change(&o)
			list = append(list, attempt{fmt.Sprintf("%v: %s", kind, name), 0, 2, &packet{Instructed, o.AppendTo(nil), false}})
		}
	}
	for _, v := range append(slices.Clone(extreme64), slack(w)) {
		add(fmt.Sprintf("epoch %x", v), func(o *wire.Order) { o.Epoch = v })
		add(fmt.Sprintf("version's epoch %x", v), func(o *wire.Order) { o.Version.Epoch = v })
		add(fmt.Sprintf("counter %x", v), func(o *wire.Order) { o.Version.Counter = v })
		add(fmt.Sprintf("usable %x", v), func(o *wire.Order) { o.Usable = wire.Version{Epoch: v, Counter: v} })
		add(fmt.Sprintf("oldest %x", v), func(o *wire.Order) { o.Oldest = wire.Version{Epoch: v, Counter: v} })
		add(fmt.Sprintf("life %x", v), func(o *wire.Order) { o.Incarnation = v })
	}
	for _, v := range extreme32 {
		add(fmt.Sprintf("MTU %x", v), func(o *wire.Order) { o.MTU = v })
		add(fmt.Sprintf("capacity %x", v), func(o *wire.Order) { o.Capacity = v })
		add(fmt.Sprintf("next %x", v), func(o *wire.Order) { o.Next = v })
	}
	add("flags", func(o *wire.Order) { o.Flags = wire.KnownOrderFlags })
	return list
}

// extremeOrders returns messages of the manager to node 2, each with an extreme value.
func extremeOrders(w *world) (list []attempt) {
	g, m := w.hosts[0].g, w.hosts[2].m
	add := func(name string, change func(o *wire.Order)) {
		for _, kind := range []wire.OrderKind{wire.OrderList, wire.OrderState, wire.OrderCollect, wire.OrderExpelled, wire.OrderRefused} {
			o := g.published()
			o.Kind, o.Incarnation, o.You = kind, m.self.Incarnation, m.Status().Number
			o.Members, o.Departed = slices.Clone(o.Members), slices.Clone(o.Departed)
			if o.Version.Counter++; kind != wire.OrderList {
				o.Members, o.Departed = nil, nil
			}
			change(&o)
			list = append(list, attempt{fmt.Sprintf("%v: %s", kind, name), 2, 0, &packet{Instructed, o.AppendTo(nil), false}})
		}
	}
	for _, v := range append(slices.Clone(extreme64), slack(w)) {
		add(fmt.Sprintf("epoch %x", v), func(o *wire.Order) { o.Epoch = v })
		add(fmt.Sprintf("epoch and version %x", v), func(o *wire.Order) { o.Epoch, o.Version = v, wire.Version{Epoch: v, Counter: v} })
		add(fmt.Sprintf("counter %x", v), func(o *wire.Order) { o.Version.Counter = v })
		add(fmt.Sprintf("usable %x", v), func(o *wire.Order) { o.Usable = wire.Version{Epoch: v, Counter: v} })
		add(fmt.Sprintf("oldest %x", v), func(o *wire.Order) { o.Oldest = wire.Version{Epoch: v, Counter: v} })
		add(fmt.Sprintf("life %x", v), func(o *wire.Order) { o.Incarnation = v })
		add(fmt.Sprintf("others' lives %x", v), func(o *wire.Order) {
			for i := range o.Members {
				if o.Members[i].NID != hostNID(2) {
					o.Members[i].Incarnation = v
				}
			}
		})
	}
	for _, v := range extreme32 {
		add(fmt.Sprintf("you %x", v), func(o *wire.Order) { o.You = v })
		add(fmt.Sprintf("MTU %x", v), func(o *wire.Order) { o.MTU = v })
		add(fmt.Sprintf("capacity %x", v), func(o *wire.Order) { o.Capacity = v })
		add(fmt.Sprintf("window %x", v), func(o *wire.Order) { o.Window = v })
		add(fmt.Sprintf("next %x", v), func(o *wire.Order) { o.Next = v })
	}
	add("flags", func(o *wire.Order) { o.Flags = wire.KnownOrderFlags })
	add("no members", func(o *wire.Order) { o.Members = nil })
	return list
}
