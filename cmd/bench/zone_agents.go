package main

import (
	"context"
	"net/netip"
	"slices"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// zoneID returns the ID of the member with an address.
func zoneID(addr netip.Addr) zone.ID {
	return must(zone.NewID(addr.String(), nid.FromAddr(tcp, addr)))
}

// zoneAgents starts a member of the same zone on each node; all join through the first one.
func zoneAgents(a *agents) {
	var all []*zone.Agent
	var ids []zone.ID
	for i, n := range a.nodes {
		self := zoneID(n.id.NID.Addr())
		ids = append(ids, self)
		agent := must(zone.New(n.table, zone.Config{
			Zone: "bench", Self: self, Bootstrap: ids[:1], Heartbeat: agentHeartbeat, Seed: uint64(i + 1),
		}))
		all = append(all, agent)
		a.ends = append(a.ends, func() { _ = agent.Close(context.Background()) }) // an error makes no difference after the measurement
		succeed(agent.Join(0))
	}
	a.gathered = func() bool {
		return !slices.ContainsFunc(all, func(z *zone.Agent) bool { return z.Status().Members != len(all) })
	}
	a.sent = func() (heartbeats, others uint64) {
		for _, z := range all {
			s := z.Status().Stats
			heartbeats += s.Sent[wire.Heartbeat]
			for _, n := range s.Sent {
				others += n
			}
		}
		return heartbeats, others - heartbeats
	}
}
