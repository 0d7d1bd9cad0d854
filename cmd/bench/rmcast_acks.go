package main

import (
	"context"
	"fmt"
	"math/bits"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
	"ulnet/scoll/rmcast/wire"
)

// measureCastAcks is G-RM-4.
func measureCastAcks(ctx context.Context, b *bench) ([]line, error) {
	var top, all, other float64
	sizes := pick(b, []int{2, 8, 13}, []int{2, 3, 5, 8, 13, 33, 64, 100, 256}, []int{2, 3, 5, 8, 13, 33, 64, 100, 256, 500, 1024})
	sent := 0
	for _, nodes := range sizes {
		c := &castTap{}
		n, err := castNet(rmcastsim.Config{Network: scenario.Network{Nodes: nodes}, Rmcast: calm, Manager: rmcast.ManagerConfig{Window: 2, Fragment: 64}, Tap: c.count})
		if err != nil {
			return nil, err
		}
		for _, origin := range []sim.NodeID{0, sim.NodeID(nodes / 2), sim.NodeID(nodes - 1)} {
			*c = castTap{origin: origin}
			if _, err := n.Send(origin, 32); err != nil {
				return nil, err
			}
			if err := n.Quiet(); err != nil {
				return nil, err
			}
			sent++
			top = max(top, float64(c.top)/float64(bits.Len(uint(nodes-1))))
			all = max(all, float64(c.acks)/float64(nodes-1))
			other = max(other, float64(max(c.casts/(nodes-1)-1, 0)+c.repairs))
		}
	}
	basis := fmt.Sprintf("%d messages, one at a time, of %d to %d nodes", sent, sizes[0], sizes[len(sizes)-1])
	lines := []line{
		{what: "acknowledgements that the origin receives, to log2 N rounded up, worst", ratio: top, limit: 1, basis: basis},
		{what: "acknowledgements of all, to N-1, worst", ratio: all, limit: 1, basis: basis},
		{what: "payloads beyond one multicast", ratio: other, unit: "payloads", basis: basis},
		{what: "connects after the first message of each", unit: "connects"},
	}
	more, err := measureCastConnects(ctx, b, lines[3])
	return append(lines[:3], more...), err
}

// measureCastConnects counts, as hosts do, who connects while messages are sent.
func measureCastConnects(ctx context.Context, b *bench, l line) ([]line, error) {
	lines := []line{l}
	err := inCastLab(ctx, b, pick(b, 3, 8, 8), func(lab *castLab) error {
		s, err := lab.streams(len(lab.hosts))
		if err != nil {
			return err
		}
		defer s.Stop()
		connects := func() (sum uint64, err error) {
			all, err := s.reports()
			for _, r := range all {
				sum += r.Connects
			}
			return sum, err
		}
		before, err := connects()
		if err != nil {
			return err
		}
		count := pick(b, 20, 200, 1000)
		for _, p := range s.Crew {
			if _, err := worker.Ask[latencies](p, "ours", casterOrder{Bytes: castBytes, Count: count}); err != nil {
				return err
			}
		}
		after, err := connects()
		lines[0].ratio = float64(after - before)
		lines[0].basis = fmt.Sprintf("%d messages of each of %d members in namespaces; %d before", count, len(lab.hosts), before)
		return err
	})
	return skip(lines, err)
}

// castTap counts messages of bare machines.
type castTap struct {
	origin  sim.NodeID
	casts   int // datagrams with payload, once for each receiver
	acks    int // of all
	top     int // at the origin
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
