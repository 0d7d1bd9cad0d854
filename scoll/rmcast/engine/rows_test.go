package engine

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestCycles: RM-6 and RM-A3: in the tree of 16 members there are four rounds of acknowledgements: 8 members
// acknowledge in the first one, then 4, 2 and 1. The origin receives one acknowledgement in each round.
func TestCycles(t *testing.T) {
	spec.Covers(t, "RM-6", "RM-A3")
	sent := map[sim.NodeID]time.Duration{}
	heard := map[time.Duration]int{}
	w, _ := tallied(t, 16, nil, nil)
	w.tap = func(from, to sim.NodeID, p *packet) {
		if has(p, wire.Ack) {
			sent[from] = w.net.Now()
			if to == 0 {
				heard[w.net.Now()]++
			}
		}
	}
	s := w.send(0, "x")
	w.await(s)
	for id, at := range sent { // any order: the nodes are independent
		cycle := 1 + bits.TrailingZeros(uint(id))
		if want := s.at + time.Duration(cycle)*oneWay; at != want {
			t.Errorf("node %d acknowledges at %v, cycle %d is at %v", id, at, cycle, want)
		}
	}
	for at, n := range heard { // any order: the times are independent
		if n != 1 {
			t.Errorf("the origin hears %d at %v", n, at)
		}
	}
	if len(sent) != 15 || len(heard) != 4 || s.released-s.at != 5*oneWay {
		t.Errorf("%d have acknowledged, %d cycles, released after %v", len(sent), len(heard), s.released-s.at)
	}
}

// TestCompletion: G-RM-2: a message is released after one latency for the multicast and one for the
// acknowledgements of each level of the tree.
func TestCompletion(t *testing.T) {
	spec.Covers(t, "G-RM-2")
	for _, n := range []int{2, 3, 7, 14, 33, 100} {
		w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) { w.unchecked = true })
		w.form(n)
		depth := 0
		for v := range n {
			depth = max(depth, bits.OnesCount(uint(v)))
		}
		s := w.send(sim.NodeID(n/2), "x")
		w.await(s)
		if took, want := s.released-s.at, time.Duration(1+depth)*oneWay; took != want {
			t.Errorf("%d members: %v, want %v", n, took, want)
		}
	}
}

// TestPace: RM-34 and RM-A21: a burst takes half of the room of the smallest receiver, shared
// with other origins. Repairs halve the limit, but not below three quarters of the initial limit.
// The limit rises again by one each time that as many datagrams are released as it allows, up to the
// whole room.
func TestPace(t *testing.T) {
	spec.Covers(t, "RM-34", "RM-A21")
	r := &roster{window: 128, fragment: 2048}
	var p sender
	for _, tt := range []struct{ capacity, origins, want int }{
		{0, 1, 128}, {212992, 1, 20}, {212992, 8, 2}, {1 << 24, 1, 128}, {1, 5, 1},
	} {
		r.capacity = tt.capacity
		if p.start(r, tt.origins); p.limit != tt.want {
			t.Errorf("%+v: limit %d", tt, p.limit)
		}
	}
	r.capacity = 212992
	p.start(r, 1)
	for i := range uint64(10) {
		p.sent = 10 * (i + 1)
		p.slower(10*i, 1)
	}
	if p.limit != 15 {
		t.Errorf("limit %d after many repairs", p.limit)
	}
	for range 100_000 {
		p.faster(1)
	}
	if p.limit != 40 {
		t.Errorf("limit %d after none", p.limit)
	}
	p = sender{limit: 16, least: 1, most: 128, sent: 100, recover: 50}
	p.slower(60, 1)
	p.slower(99, 1) // a second loss in the same flight has no effect
	if p.limit != 8 {
		t.Errorf("limit %d after repairs of one flight", p.limit)
	}
	p.sent = 200
	if p.slower(150, 1); p.limit != 4 {
		t.Errorf("limit %d after a second", p.limit)
	}
	for range 4 {
		p.faster(1)
	}
	if p.limit != 5 {
		t.Errorf("limit %d after as many were released", p.limit)
	}
	for range 100_000 {
		p.faster(1)
	}
	if p.limit != 128 {
		t.Errorf("limit %d", p.limit)
	}
}

// TestPacedSources: RM-34: eight sources send to receivers with room for 48 datagrams of 2 KiB.
// There are never more than 96 datagrams in flight. When members below an origin in the tree make
// repairs, the origin lowers its limit of datagrams in flight.
func TestPacedSources(t *testing.T) {
	spec.Covers(t, "RM-34")
	w, _ := tallied(t, 8, nil, func(w *world, _ *sim.Config[*packet]) {
		w.cfg.Capacity = 48 * (2*(2048+wire.HeaderSize) + overhead)
		w.manager.Window = 64
	})
	text := long(2048)
	for range 3 { // three rounds are enough for each node to hear all others
		for id := range sim.NodeID(8) {
			w.await(w.send(id, text))
		}
	}
	w.net.Command(7, "leave") // a member leaves, so there is a new version
	w.run(3 * time.Second)
	for range 40 {
		for id := range sim.NodeID(7) {
			w.net.Command(id, text)
		}
	}
	most := 0
	for range 100 {
		w.run(oneWay / 2)
		flying := 0
		for _, h := range w.hosts[:7] {
			flying += int(h.m.sender.sent - h.m.sender.stream.stable)
		}
		most = max(most, flying)
	}
	if most == 0 || most > 2*48 {
		t.Errorf("%d datagrams in flight", most)
	}
	h := w.hosts[2]
	w.run(2 * time.Second)
	before := h.m.sender.limit
	w.loss = func(from, to sim.NodeID, p *packet) bool { return p.cast && from == 2 && to == 5 }
	for range 20 {
		w.net.Command(2, text)
	}
	w.run(2 * time.Second)
	if h.m.sender.limit >= before {
		t.Errorf("limit %d, before the losses %d", h.m.sender.limit, before)
	}
}

// TestDeaf: multicast does not reach a member, as where the network does not forward the
// group's address. Messages arrive as repairs, and the member reports Deaf.
func TestDeaf(t *testing.T) {
	w, _ := tallied(t, 4, func(to sim.NodeID, _ *wire.Datagram) bool { return to == 2 }, nil)
	for i := range 20 {
		w.await(w.send(0, fmt.Sprint("m", i)))
	}
	if w.hosts[2].deaf != 1 || w.hosts[1].deaf != 0 || len(w.hosts[2].got) != 20 {
		t.Errorf("told %d times, %d messages", w.hosts[2].deaf, len(w.hosts[2].got))
	}
}

// TestSameTwice: two runs with the same seed are equal.
func TestSameTwice(t *testing.T) {
	var digests [2]uint64
	for i := range digests {
		w, _ := tallied(t, 12, nil, func(w *world, cfg *sim.Config[*packet]) {
			w.cfg.Faults = Faults{Acks: 0.1, Datagrams: 0.2}
		})
		for j := range 30 {
			w.net.Command(sim.NodeID(j%5), fmt.Sprint("m", j))
		}
		w.net.Crash(9)
		w.net.Command(0, "dead 9")
		w.run(5 * time.Second)
		digests[i] = w.net.Digest()
	}
	if digests[0] != digests[1] {
		t.Error("two runs differ")
	}
}
