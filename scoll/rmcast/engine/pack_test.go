package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// packing is a group in which node 0 has room for few datagrams in flight. So most messages that
// it accepts at once wait, and leave together when the first ones are released.
func packing(t *testing.T, n, room int, lost func(to sim.NodeID, d *wire.Datagram) bool, change func(w *world)) (*world, *tally) {
	t.Helper()
	return tallied(t, n, lost, func(w *world, _ *sim.Config[*packet]) {
		w.manager.Window, w.manager.Fragment = 64, 100
		w.cfg.Capacity = 2 * room * (2*(100+wire.HeaderSize) + overhead)
		if change != nil {
			change(w)
		}
	})
}

// burst makes node 0 send messages of size bytes at once.
func (w *world) burst(count, size int) (list []*sent) {
	for i := range count {
		list = append(list, w.send(0, fmt.Sprintf("%-*d", size, i)))
	}
	return list
}

// settled awaits messages, and checks that all members have delivered each once.
func (w *world) settled(list []*sent) {
	w.t.Helper()
	for _, s := range list {
		w.await(s)
		w.want(s.data, w.all()...)
	}
	w.run(time.Second)
	for id, h := range w.hosts {
		for _, s := range h.m.streams {
			if s.stable != s.head {
				w.t.Errorf("node %d keeps messages: %s", id, s.describe())
			}
		}
	}
}

// TestPacked: RM-43: messages that wait for room leave in one datagram as soon as there is room,
// as many as fit in a fragment. A message that need not wait leaves at once and alone. Members
// acknowledge all messages of a datagram in one PUT.
func TestPacked(t *testing.T) {
	spec.Covers(t, "RM-43", "RM-A25")
	for _, tree := range []bool{false, true} {
		for _, tt := range []struct{ size, count, datagrams int }{
			{8, 17, 9 + 1}, // 8 messages go alone, at once; as they are released, the other 9 follow in at most 2 datagrams
			{98, 24, 24},   // two messages of 98 bytes do not fit in a fragment of 100 bytes
		} {
			const n = 4
			w, c := packing(t, n, 8, nil, func(w *world) {
				if tree {
					w.cfg.MTU = 0
				}
			})
			at, most := w.net.Now(), 0
			count := w.tap
			w.tap = func(from, to sim.NodeID, p *packet) {
				count(from, to, p)
				if d, _, err := wire.ParseDatagram(p.data); err == nil && d.Flags&wire.FlagPacked != 0 {
					most = max(most, int(d.Size))
					if w.net.Now() == at {
						t.Errorf("size %d: %d messages wait for each other", tt.size, d.Count)
					}
				}
			}
			w.settled(w.burst(tt.count, tt.size))
			m := w.hosts[0].m
			if got := int(m.stats.Datagrams); got > tt.datagrams || c.casts != got*(n-1) || c.repairs > 0 || most > 100 {
				t.Errorf("tree %v, size %d: %d datagrams, %+v, at most %d bytes", tree, tt.size, got, c, most)
			}
			if tt.size == 98 != (m.stats.Packed == 0) {
				t.Errorf("size %d: %d packed", tt.size, m.stats.Packed)
			}
			for id, h := range w.hosts {
				if s := &h.m.stats; s.Malformed+s.Inconsistent+s.Duplicates+s.Window > 0 {
					t.Errorf("node %d: %+v", id, *s)
				}
			}
		}
	}
}

// TestPackLost: RM-43 and RM-20: a datagram with several messages is lost at an inner node. Its messages are requested
// by one range of numbers, and resent in one PUT. The loss does not count as a sign that multicast does not work.
func TestPackLost(t *testing.T) {
	spec.Covers(t, "RM-43", "RM-20")
	lost := 0
	w, c := packing(t, 8, 4, func(to sim.NodeID, d *wire.Datagram) bool {
		if to != 4 || d.Flags&wire.FlagPacked == 0 || lost > 0 {
			return false
		}
		lost = int(d.Count)
		return true
	}, nil)
	w.settled(w.burst(24, 8))
	if lost < 2 || c.repairs > 2 || w.hosts[4].m.stats.Repaired != uint64(lost) || w.hosts[4].deaf > 0 {
		t.Errorf("%d lost, %+v, %+v", lost, c, w.hosts[4].m.stats)
	}
}

// TestPackRepeated: a datagram with messages that a member has acknowledged comes again as a
// repair. The member acknowledges them again, in one entry (docs/spec, multicast §C.4). A
// multicast that comes again is counted only.
func TestPackRepeated(t *testing.T) {
	spec.Covers(t, "RM-43")
	w, _ := tallied(t, 8, nil, nil)
	w.net.Pause(4) // node 4 is silent, so the messages are not released
	for i := range 3 {
		w.send(0, fmt.Sprint("m", i))
	}
	w.run(2 * time.Millisecond)
	h := w.hosts[7]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	var out Output
	h.m.out = &out
	d, data := s.datagramOf(span{s.stable, s.stable + 3}, 0)
	h.m.out = nil
	var answer []wire.Entry
	w.tap = func(from, to sim.NodeID, p *packet) {
		if from == 7 && to == 6 {
			answer = append(answer, entries(p)...)
		}
	}
	w.inject(7, 0, &packet{Arrival, append(d.AppendTo(nil), data...), true})
	if len(answer) > 0 || h.m.stats.Duplicates != 3 {
		t.Errorf("by multicast: %+v, %+v", answer, h.m.stats)
	}
	d.Flags |= wire.FlagRepair
	w.inject(7, 6, &packet{Arrival, append(d.AppendTo(nil), data...), false})
	if len(answer) != 1 || answer[0].Kind != wire.Ack || answer[0].Flags != wire.FlagAnswer || answer[0].First != s.stable || answer[0].Count != 3 || len(h.got) != 3 {
		t.Errorf("as a repair: %+v, delivered %d", answer, len(h.got))
	}
	w.net.Resume(4)
}

// TestPackPartlyHere: RM-43 and RM-21: a datagram contains messages that are here, and others that
// are not. The others are delivered, each once, also in order.
func TestPackPartlyHere(t *testing.T) {
	spec.Covers(t, "RM-43", "RM-21")
	for _, fifo := range []bool{false, true} {
		w, _ := tallied(t, 3, func(to sim.NodeID, d *wire.Datagram) bool { return to == 2 && d.Count > 0 && d.Seq%2 == 0 }, func(w *world, _ *sim.Config[*packet]) { w.cfg.FIFO = fifo })
		for i := range 6 {
			w.send(0, fmt.Sprint("m", i))
		}
		w.run(oneWay + time.Microsecond)
		root := w.hosts[0].m
		s := root.sender.stream
		var out Output
		root.out = &out
		d, data := s.datagramOf(span{s.stable, s.stable + 6}, wire.FlagRepair)
		root.out = nil
		w.inject(2, 0, &packet{Arrival, append(d.AppendTo(nil), data...), false})
		h := w.hosts[2]
		if len(h.got) != 6 || h.m.stats.Duplicates != 3 || h.m.stats.Repaired != 3 {
			t.Errorf("fifo %v: delivered %d, %+v", fifo, len(h.got), h.m.stats)
		}
		for i := range h.got {
			if fifo && h.got[i].data != fmt.Sprint("m", i) {
				t.Errorf("message %d is %q", i, h.got[i].data)
			}
		}
		w.run(time.Second)
		for i := range 6 {
			w.want(fmt.Sprint("m", i), w.all()...)
		}
	}
}

// TestHostilePacks: datagrams with several messages from an adversary with an ordinary connection,
// or a host that forges multicast: too long, beyond the window, across the end of the window, cut
// short, and of more messages than there are bytes. None is delivered, and no member keeps more
// than a window.
func TestHostilePacks(t *testing.T) {
	spec.Covers(t, "RM-43", "RM-39")
	w, _ := packing(t, 4, 8, nil, nil)
	w.await(w.send(0, "x"))
	w.run(time.Second)
	h := w.hosts[3]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	before, head := len(h.got), s.head
	pack := func(seq uint64, count, size int) []byte {
		var payload []byte
		for range count {
			payload = wire.AppendMessage(payload, make([]byte, size))
		}
		d := wire.Datagram{
			Group: testGroup, Flags: wire.FlagPacked, Version: s.roster.version, Origin: s.number(), Length: uint32(len(payload)), Size: uint32(len(payload)),
			Seq: seq, Count: uint16(count), Stable: head, First: s.first,
		}
		return append(d.AppendTo(nil), payload...)
	}
	short := pack(head, 3, 8)
	more := pack(head, 3, 8)
	more[50] = 200
	for _, tt := range []struct {
		name    string
		data    []byte
		counter func(s *Stats) uint64
	}{
		{"longer than a fragment", pack(head, 2, 50), func(s *Stats) uint64 { return s.Inconsistent }},
		{"of more messages than a fragment holds", pack(head, 51, 0), func(s *Stats) uint64 { return s.Inconsistent }},
		{"cut short", short[:len(short)-1], func(s *Stats) uint64 { return s.Malformed }},
		{"of fewer messages than it says", more, func(s *Stats) uint64 { return s.Malformed }},
		{"of an absurd number", pack(wire.MaxSeq, 2, 8), func(s *Stats) uint64 { return s.Malformed }},
		{"beyond the window", pack(head+1000, 1+1, 8), func(s *Stats) uint64 { return s.Window }},
	} {
		for _, cast := range []bool{true, false} {
			counted := tt.counter(&h.m.stats)
			w.inject(3, 0, &packet{Arrival, tt.data, cast})
			if tt.counter(&h.m.stats) == counted || len(h.got) != before || s.head != head {
				t.Errorf("%s: delivered %d, head %d, %+v", tt.name, len(h.got), s.head, h.m.stats)
			}
		}
	}
	w.inject(3, 0, &packet{Arrival, pack(head+62, 4, 8), true}) // the last two are beyond the window
	if s.head != head+64 || len(h.got) != before+2 || h.m.stats.Window != 4+2 {
		t.Errorf("across the end of the window: head %d, delivered %d, %+v", s.head-head, len(h.got)-before, h.m.stats)
	}
}
