package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestNeedlessOfTwo: RM-5: when a member reports a needless repair, it acknowledges both
// datagrams of the message again. If it acknowledged only one, a parent that runs an older version of
// ulnet would wait forever for the other.
func TestNeedlessOfTwo(t *testing.T) {
	spec.Covers(t, "RM-5")
	w, _ := tallied(t, 8, nil, nil)
	w.await(w.send(0, "first"))
	read := unread(w, 6)
	w.send(0, long(3000))
	w.run(30 * time.Millisecond)
	counts := []uint32{}
	w.tap = func(from, to sim.NodeID, p *packet) {
		for _, e := range entries(p) {
			if from == 6 && to == 4 && p.kind == Control && e.Flags&wire.FlagNeedless != 0 {
				counts = append(counts, e.Count)
			}
		}
	}
	read()
	w.run(time.Millisecond)
	if !slices.Equal(counts, []uint32{2, 2}) {
		t.Errorf("of %v datagrams", counts)
	}
}

// TestAckOfPart: RM-5, RM-18: a message has two datagrams. A child first acknowledges only one of them, which
// members of older versions do after a repair that they did not need. Then it acknowledges both, and this
// acknowledgement is lost. The parent must ask the child about the other datagram. It must also do so if the
// first acknowledgement arrives before the parent itself has received the message.
func TestAckOfPart(t *testing.T) {
	spec.Covers(t, "RM-5", "RM-18")
	for name, early := range map[string]bool{"before the parent has it": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			w, c := tallied(t, 8, nil, nil)
			text := long(3000)
			lost := 0
			w.loss = func(from, _ sim.NodeID, p *packet) bool {
				drop := from == 7 && has(p, wire.Ack) && lost == 0
				if drop {
					lost++
				}
				return drop
			}
			read := unread(w, 6)
			s := w.send(0, text)
			w.run(oneWay)
			o := w.hosts[0].m.sender.stream
			e := wire.Entry{Kind: wire.Ack, Flags: wire.FlagNeedless, Origin: o.number(), Version: o.roster.version, First: s.seq, Count: 1, Stable: s.seq}
			part := &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false}
			if early {
				w.inject(6, 7, part)
				read()
			} else {
				read()
				w.inject(6, 7, part)
			}
			w.await(s)
			w.want(text, w.all()...)
			if lost != 1 || c.polls != 1 || c.repairs > 0 {
				t.Errorf("%d acknowledgements lost, %+v", lost, c)
			}
		})
	}
}

// TestAckOfPartInherited: RM-A8: a child that has acknowledged one of two datagrams dies. The
// member above it polls the child's children about the message.
func TestAckOfPartInherited(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w, _ := tallied(t, 8, func(to sim.NodeID, _ *wire.Datagram) bool { return to >= 6 }, nil)
	w.net.Pause(6)
	text := long(3000)
	s := w.send(0, text)
	w.run(2 * oneWay)
	o := w.hosts[0].m.sender.stream
	e := wire.Entry{Kind: wire.Ack, Origin: o.number(), Version: o.roster.version, First: s.seq, Count: 1, Stable: s.seq}
	w.inject(4, 6, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	w.net.Command(0, "dead 6")
	w.await(s)
	w.want(text, 0, 1, 2, 3, 4, 5, 7)
}

// TestStableOfPart: RM-39: a child, another member, a multicast in the origin's name and the
// origin itself declare the first of two datagrams of a message stable. A message is released as
// a whole, so the member keeps both, and acknowledges the message when its child has done so.
func TestStableOfPart(t *testing.T) {
	spec.Covers(t, "RM-39")
	for name, send := range map[string]struct {
		from sim.NodeID
		cast bool
		kind wire.EntryKind
	}{
		"child":     {6, false, wire.Ack},
		"member":    {1, false, wire.Query},
		"multicast": {0, true, 0},
		"origin":    {0, false, wire.Stable},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := tallied(t, 8, nil, nil)
			text := long(3000)
			w.net.Pause(6)
			s := w.send(0, text)
			w.run(2 * oneWay)
			o := w.hosts[0].m.sender.stream
			e := wire.Entry{Kind: send.kind, Origin: o.number(), Version: o.roster.version, First: s.seq, Count: 2, Stable: s.seq + 1}
			data := wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e})
			p := &packet{Control, data, false}
			if send.cast {
				d := wire.Datagram{Group: testGroup, Version: e.Version, Origin: e.Origin, Seq: s.seq + 2, Stable: e.Stable, First: o.first}
				p = &packet{Arrival, d.AppendTo(nil), true}
			}
			w.inject(4, send.from, p)
			w.net.Resume(6)
			w.await(s)
			w.want(text, w.all()...)
		})
	}
}

// TestStableOfPartLacked: RM-39: an origin declares the first of two datagrams of a message
// stable, at a member that has only the second one. The member then drops the second one, too,
// because the message can never be complete there.
func TestStableOfPartLacked(t *testing.T) {
	spec.Covers(t, "RM-39")
	w, _ := tallied(t, 5, func(to sim.NodeID, d *wire.Datagram) bool { return to == 3 && d.Index == 0 }, nil)
	w.net.Pause(1)
	s := w.send(0, long(3000))
	w.run(oneWay)
	h, o := w.hosts[3], w.hosts[0].m.sender.stream
	e := wire.Entry{Kind: wire.Stable, Origin: o.number(), Version: o.roster.version, First: s.seq, Stable: s.seq}
	w.inject(3, 0, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false}) // now the member knows where the version began
	e.First, e.Stable = s.seq+1, s.seq+1
	if at := h.m.group.byID[w.hosts[0].m.self].stream; !at.slot(s.seq+1).have || at.slot(s.seq).have {
		t.Fatal("the member has another part of the message")
	}
	w.inject(3, 0, &packet{Control, wire.AppendControl(nil, testGroup, wire.Version{}, []wire.Entry{e}), false})
	if h.m.stats.LeftOut != 1 {
		t.Errorf("%+v", h.m.stats)
	}
}
