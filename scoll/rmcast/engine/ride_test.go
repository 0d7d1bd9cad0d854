package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestAcksRide: RM-44: without multicast two members send to each other. A delayed acknowledgement
// goes with the data that is sent to its receiver, in the same PUT and at the same time, if there
// is room for it.
func TestAcksRide(t *testing.T) {
	spec.Covers(t, "RM-44", "RM-A26")
	for _, tt := range []struct{ size, riding, acks int }{{8, 1, 1}, {2048, 0, 2}} {
		w, c := tallied(t, 2, nil, func(w *world, _ *sim.Config[*packet]) {
			w.manager.Window, w.manager.Fragment = 16, 2048
			w.cfg.MTU = 0
		})
		count, riding := w.tap, 0
		var at time.Duration
		w.tap = func(from, to sim.NodeID, p *packet) {
			count(from, to, p)
			d, _, err := wire.ParseDatagram(p.data)
			if err != nil || p.kind != Arrival || d.Flags&wire.FlagControl == 0 {
				return
			}
			list := entries(&packet{Control, d.ControlIn(p.data), false})
			if riding++; from != 1 || len(list) != 1 || list[0].Kind != wire.Ack || len(p.data) > wire.HeaderSize+2048 {
				t.Errorf("%d bytes from node %d with %+v", len(p.data), from, list)
			}
			at = w.net.Now()
		}
		first, second := w.send(0, "first"), w.send(0, "second") // node 1 delays only the second acknowledgement
		w.run(oneWay + 100*time.Microsecond)
		back := w.send(1, long(tt.size))
		for _, s := range []*sent{first, second, back} {
			w.await(s)
			w.want(s.data, w.all()...)
		}
		if riding != tt.riding || riding > 0 && (at != back.at || second.released != at+oneWay) {
			t.Errorf("%d bytes: %d datagrams with acknowledgements, at %v, released at %v", tt.size, riding, at, second.released)
		}
		if n := c.ackers[1]; n == 0 || c.ackMessages != tt.acks+1 { // node 0 sends one more, which acknowledges the message from node 1
			t.Errorf("%d bytes: %+v", tt.size, c)
		}
		if h := w.hosts[1].m; h.stats.JoinedAcks != uint64(tt.riding) || len(h.delayed) > 0 {
			t.Errorf("%d bytes: %d joined, %d delayed", tt.size, h.stats.JoinedAcks, len(h.delayed))
		}
	}
}

// TestHostileRiders: RM-44: a control message that a datagram carries is taken as if it had come by
// itself, from the sender of the datagram. It is dropped as a whole if it is cut short, or of
// another version or group; in a multicast datagram it is a forgery.
func TestHostileRiders(t *testing.T) {
	spec.Covers(t, "RM-44", "RM-39")
	w, _ := tallied(t, 4, nil, nil)
	w.await(w.send(0, "x"))
	w.run(time.Second)
	h := w.hosts[3]
	s := h.m.group.byID[w.hosts[0].m.self].stream
	before := len(h.got)
	d := wire.Datagram{
		Group: testGroup, Flags: wire.FlagRepair | wire.FlagControl, Version: s.roster.version, Origin: s.number(), Length: 4, Size: 4,
		Seq: s.stable - 1, Count: 1, Stable: s.stable - 1, First: s.first,
	}
	good := wire.AppendControl(nil, testGroup, s.roster.version, []wire.Entry{s.entry(wire.Ack, s.stable, 1)})
	for _, tt := range []struct {
		name    string
		cast    bool
		control []byte
		counter func(s *Stats) uint64
	}{
		{"of no child", false, good, func(s *Stats) uint64 { return s.Stray }},
		{"cut short", false, good[:len(good)-1], func(s *Stats) uint64 { return s.Malformed }},
		{"longer than it says", false, append(good[:len(good):len(good)], 0), func(s *Stats) uint64 { return s.Malformed }},
		{"empty", false, nil, func(s *Stats) uint64 { return s.Malformed }},
		{"of another version", false, versioned(good, 1), func(s *Stats) uint64 { return s.OtherVersion }},
		{"of another group", false, wire.AppendControl(nil, testGroup+1, s.roster.version, []wire.Entry{s.entry(wire.Ack, s.stable, 1)}), func(s *Stats) uint64 { return s.OtherGroup }},
		{"by multicast", true, good, func(s *Stats) uint64 { return s.Forged }},
	} {
		counted, duplicates := tt.counter(&h.m.stats), h.m.stats.Duplicates
		w.inject(3, 0, &packet{Arrival, append(append(d.AppendTo(nil), "evil"...), tt.control...), tt.cast})
		if tt.counter(&h.m.stats) != counted+1 || h.m.stats.Duplicates == duplicates != tt.cast || len(h.got) != before {
			t.Errorf("%s: delivered %d, %+v", tt.name, len(h.got), h.m.stats)
		}
	}
	w.await(w.send(0, "y"))
	w.want("y", w.all()...)
}
