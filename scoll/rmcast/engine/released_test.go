package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// said returns a message that declares a message of node 0 stable: a control message, or a
// multicast in the name of node 0.
func said(w *world, s *sent, cast bool) *packet {
	o := w.hosts[0].m.sender.stream
	if cast {
		d := wire.Datagram{Group: testGroup, Version: o.roster.version, Origin: o.number(), Seq: s.seq + 1, Stable: s.seq + 1, First: o.first}
		return &packet{Arrival, d.AppendTo(nil), true}
	}
	e := wire.Entry{Kind: wire.Query, Origin: o.number(), Version: o.roster.version, First: s.seq, Stable: s.seq + 1}
	return &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false}
}

// TestReleasedByOthers: RM-39: another member, a child and a multicast that any host can forge
// declare a message stable that a child of this member has not acknowledged yet. The message is
// kept, and the child's acknowledgement is passed on.
func TestReleasedByOthers(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	for name, from := range map[string]sim.NodeID{"member": 1, "child": 6, "multicast": 0} {
		t.Run(name, func(t *testing.T) {
			w, _ := tallied(t, 8, nil, nil)
			w.net.Pause(5)
			s := w.send(0, "x")
			w.run(2 * oneWay)
			w.inject(4, from, said(w, s, from == 0))
			if w.run(time.Second); s.done {
				t.Error("it is released before node 5 has it")
			}
			w.net.Resume(5)
			w.await(s)
			w.want("x", w.all()...)
		})
	}
}

// TestReleasedUnacknowledged: RM-39: a forged multicast declares a message stable at a member
// whose acknowledgement was lost. The member acknowledges the message again when it is polled.
func TestReleasedUnacknowledged(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	w, _ := tallied(t, 8, nil, nil)
	lost := 0
	w.loss = func(from, _ sim.NodeID, p *packet) bool {
		drop := from == 4 && has(p, wire.Ack) && lost == 0
		if drop {
			lost++
		}
		return drop
	}
	s := w.send(0, "x")
	w.run(4 * oneWay)
	w.inject(4, 0, said(w, s, true))
	if h := w.hosts[4].m.group.byID[w.hosts[0].m.self].stream; lost != 1 || h.stable != s.seq+1 {
		t.Fatalf("%d acknowledgements lost, stable %d", lost, h.stable)
	}
	w.await(s)
	w.want("x", w.all()...)
}

// TestReleasedLeft: RM-A8: the origin has released datagrams that a member never had. When the member is
// polled for them, it does not acknowledge them.
func TestReleasedLeft(t *testing.T) {
	spec.Covers(t, "RM-2")
	w, _ := tallied(t, 8, nil, nil)
	h, o := w.hosts[6], w.hosts[0].m.sender.stream
	at := h.m.stream(h.m.group.byID[w.hosts[0].m.self])
	e := wire.Entry{Kind: wire.Stable, Origin: o.number(), Version: o.roster.version, First: o.head, Stable: o.head}
	w.inject(6, 0, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	e.First, e.Stable = o.head+9, o.head+9
	w.inject(6, 0, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	if !at.lost {
		t.Fatal("the member has lost nothing")
	}
	acks := 0
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if from == 6 && has(p, wire.Ack) {
			acks++
		}
	}
	e = wire.Entry{Kind: wire.Poll, Origin: o.number(), Version: o.roster.version, First: o.head, Count: 9, Stable: o.head}
	w.inject(6, 4, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	if acks > 0 {
		t.Error("it acknowledges them")
	}
}

// TestVersionBegunByOthers: RM-39: a child of this member has not acknowledged a message yet. Then another
// member, or a multicast that any host can forge, says that the origin has begun a later version. The message
// is not released before the child has it.
func TestVersionBegunByOthers(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-39")
	for name, from := range map[string]sim.NodeID{"member": 1, "multicast": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 9, nil)
			w.form(8)
			w.net.Pause(5)
			s := w.send(0, "x")
			w.run(2 * oneWay)
			w.net.Command(8, "join")
			w.run(200 * time.Millisecond)
			o, r := w.hosts[0].m.sender.stream, w.hosts[4].m.group.latest()
			if r.version == o.roster.version {
				t.Fatal("there is no later list")
			}
			e := wire.Entry{Kind: wire.Query, Origin: o.number(), Version: r.version, First: s.seq + 1, Stable: s.seq + 1}
			p := &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false}
			if from == 0 {
				d := wire.Datagram{Group: testGroup, Version: r.version, Origin: o.number(), Seq: e.Stable, Stable: e.Stable, First: e.Stable}
				p = &packet{Arrival, d.AppendTo(nil), true}
			}
			w.inject(4, from, p)
			if w.run(500 * time.Millisecond); s.done {
				t.Error("it is released before node 5 has it")
			}
			w.net.Resume(5)
			w.await(s)
			w.want("x", 0, 1, 2, 3, 4, 5, 6, 7)
		})
	}
}
