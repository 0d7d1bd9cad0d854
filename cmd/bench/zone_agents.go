package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
)

// zoneAgents are members of one zone over TCP on loopback, all in this process.
type zoneAgents struct {
	nodes  []*node
	agents []*zone.Agent
}

// zoneID names a member by its address.
func zoneID(addr netip.Addr) (zone.ID, error) {
	return zone.NewID(addr.String(), nid.FromAddr(tcp, addr))
}

// newZoneAgents starts agents that know the first of them.
func newZoneAgents(nodes int, heartbeat time.Duration) (a *zoneAgents, err error) {
	a = new(zoneAgents)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	var addrs []netip.Addr
	for i := range nodes {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 3, byte(i + 1)}))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return a, err
	}
	for _, addr := range addrs {
		if err := a.add(addr, addrs[0], port, heartbeat); err != nil {
			return a, err
		}
	}
	return a, nil
}

// add starts an agent.
func (a *zoneAgents) add(addr, first netip.Addr, port uint16, heartbeat time.Duration) error {
	n, err := newNode(addr, port, lnd.Tunables{})
	if err != nil {
		return err
	}
	a.nodes = append(a.nodes, n)
	self, err := zoneID(addr)
	if err != nil {
		return err
	}
	known, err := zoneID(first)
	if err != nil {
		return err
	}
	agent, err := zone.New(n.table, zone.Config{
		Zone: "bench", Self: self, Bootstrap: []zone.ID{known}, Heartbeat: heartbeat, Seed: uint64(len(a.nodes)),
	})
	if err != nil {
		return err
	}
	a.agents = append(a.agents, agent)
	return agent.Join(0)
}

// gathered reports whether all have all in their views.
func (a *zoneAgents) gathered() bool {
	for _, z := range a.agents {
		if z.Status().Members != len(a.agents) {
			return false
		}
	}
	return true
}

// sent is how many messages they have sent: heartbeats, and all.
func (a *zoneAgents) sent() (heartbeats, all uint64) {
	for _, z := range a.agents {
		s := z.Status().Stats
		heartbeats += s.Sent[engine.Heartbeat]
		for _, n := range s.Sent {
			all += n
		}
	}
	return heartbeats, all
}

// stop ends the agents, not their nodes.
func (a *zoneAgents) stop() {
	for _, z := range a.agents {
		_ = z.Close(context.Background()) // none watches
	}
}

func (a *zoneAgents) close() {
	a.stop()
	var wg sync.WaitGroup
	for _, n := range a.nodes {
		wg.Go(n.close)
	}
	wg.Wait()
}

// measureZoneAgents measures idle agents for some seconds of wall time, a while after
// they have met, and then their nodes without them.
func measureZoneAgents(ctx context.Context, heartbeat, while time.Duration, seconds int) (c zoneCost, err error) {
	a, err := newZoneAgents(fewNodes, heartbeat)
	if err != nil {
		return c, err
	}
	defer a.close()
	if err := await(ctx, 20*time.Second, a.gathered); err != nil {
		return c, fmt.Errorf("the agents do not find each other: %w", err)
	}
	if err := wait(ctx, while); err != nil { // until links and connections are as they stay
		return c, err
	}
	before, others := a.sent()
	objects, cpu, err := spend(ctx, seconds)
	if err != nil {
		return c, err
	}
	heartbeats, all := a.sent()
	c.heartbeats = heartbeats - before
	if more := all - others - c.heartbeats; c.heartbeats == 0 || more > 0 {
		return c, fmt.Errorf("%d heartbeats, and %d other messages of agents at rest", c.heartbeats, more)
	}
	a.stop()
	idle, idleCPU, err := spend(ctx, seconds)
	c.cpu, c.objects = max(cpu-idleCPU, 0), max(int(objects)-int(idle), 0)
	return c, err
}
