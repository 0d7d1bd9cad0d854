package main

import (
	"fmt"
	"math/bits"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
	"ulnet/scoll/rmcast/wire"
)

// measureCastAcks measures goal G-RM-4: the number of acknowledgements of a multicast message, and
// the TCP connections that members open after the first messages.
func measureCastAcks(b *measurement) {
	var top, all, other float64
	sizes := pick(b, []int{2, 8, 13}, []int{2, 3, 5, 8, 13, 33, 64, 100, 256}, []int{2, 3, 5, 8, 13, 33, 64, 100, 256, 500, 1024})
	sent := 0
	for _, nodes := range sizes {
		c := &castTap{}
		n := castNet(rmcastsim.Config{Network: scenario.Network{Nodes: nodes}, Rmcast: calm, Manager: rmcast.ManagerConfig{Window: 2, Fragment: 64}, Tap: c.count})
		for _, origin := range []sim.NodeID{0, sim.NodeID(nodes / 2), sim.NodeID(nodes - 1)} {
			*c = castTap{origin: origin}
			must(n.Send(origin, 32))
			b.check(n.Quiet())
			sent++
			top = max(top, float64(c.top)/float64(bits.Len(uint(nodes-1))))
			all = max(all, float64(c.acks)/float64(nodes-1))
			other = max(other, float64(max(c.casts/(nodes-1)-1, 0)+c.repairs))
		}
	}
	basis := fmt.Sprintf("%d messages, one at a time, of %d to %d nodes", sent, sizes[0], sizes[len(sizes)-1])
	b.add(
		line{what: "acknowledgements that the origin receives, to log2 N rounded up, worst", ratio: top, limit: 1, basis: basis},
		line{what: "acknowledgements of all, to N-1, worst", ratio: all, limit: 1, basis: basis},
		line{what: "payloads beyond one multicast", ratio: other, unit: "payloads", basis: basis},
	)
	measureCastConnects(b)
}

// measureCastConnects reads from the counters of the hosts how many TCP connections the members
// open while messages are sent.
func measureCastConnects(b *measurement) {
	l := line{what: "connects after the first message of each", unit: "connects"}
	l.skipped = b.inCastLab(pick(b, 3, 8, 8), func(lab *castLab) {
		s := lab.streams(len(lab.hosts))
		defer s.Stop()
		connects := func() (sum uint64) {
			for _, r := range s.reports() {
				sum += r.Connects
			}
			return sum
		}
		before := connects()
		for settled := false; !settled; { // wait until the counters stay the same: socklnd opens connections of the other types in the background
			lab.check(wait(lab.ctx, time.Second))
			now := connects()
			settled, before = now == before, now
		}
		count := pick(b, 20, 200, 1000)
		for _, p := range s.Crew {
			must(worker.Ask[latencies](p, "ours", casterOrder{Bytes: castBytes, Count: count}))
		}
		l.ratio = float64(connects() - before)
		l.basis = fmt.Sprintf("%d messages of each of %d members in namespaces; %d before", count, len(lab.hosts), before)
	})
	b.add(l)
}

// castTap counts messages in a simulation of state machines without a network stack.
type castTap struct {
	origin  sim.NodeID
	casts   int // number of datagrams with payload, each counted once per receiver
	acks    int // number of acknowledgements that all members send
	top     int // number of acknowledgements that the origin receives
	repairs int
}

func (c *castTap) count(_, to sim.NodeID, kind rmcastsim.Kind, b []byte) {
	switch kind {
	case rmcastsim.Cast:
		if d, _, err := wire.ParseDatagram(b); err == nil && d.Count > 0 {
			c.casts++
		}
	case rmcastsim.Repair:
		c.repairs++
	case rmcastsim.Control:
		if _, _, entries, err := wire.ParseControl(b); err == nil {
			if e, _, err := wire.ParseEntry(entries); err == nil && e.Kind == wire.Ack {
				c.acks++
				if to == c.origin {
					c.top++
				}
			}
		}
	}
}
