package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
)

// fewNodes is the number of agents over TCP whose cost is measured. The first message between
// two nodes opens a connection; with so few nodes, all pairs have soon exchanged messages, and
// no more connections are opened.
const fewNodes = 8

// agents are the agents of a protocol over TCP on loopback, all in this process.
type agents struct {
	nodes []*node
	ends  []func() // functions, each of which closes an agent

	gathered func() bool                     // reports whether all agents know each other
	sent     func() (counted, others uint64) // numbers of messages sent so far: counted are those over which cost spreads what it measures; others are all further messages, of which none may be sent meanwhile
}

// newAgents starts a number of nodes, fewNodes, with an agent on each, and waits until they know
// each other.
func newAgents(b *measurement, start func(a *agents)) *agents {
	a := new(agents)
	var addrs []netip.Addr
	for i := range fewNodes {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}))
	}
	port := must(loopback.FreePort(addrs...))
	for _, addr := range addrs {
		a.nodes = append(a.nodes, newNode(addr, port, lnd.Tunables{}))
	}
	start(a)
	if err := await(b.ctx, time.Minute, a.gathered); err != nil {
		b.check(fmt.Errorf("the agents do not find each other: %w", err))
	}
	return a
}

// gossipAgents starts gossip on all nodes.
func gossipAgents(a *agents) {
	var ids []nid.NID
	for _, n := range a.nodes {
		ids = append(ids, n.id.NID)
	}
	var all []*gossip.Agent
	for i, n := range a.nodes {
		agent := must(gossip.New(n.table, gossip.Config{
			Participants: ids, Interval: gossipsim.Interval, ColdStart: true, Seed: uint64(i),
		}))
		all = append(all, agent)
		a.ends = append(a.ends, func() { _ = agent.Close(context.Background()) })
	}
	a.gathered = func() bool {
		return !slices.ContainsFunc(all, func(g *gossip.Agent) bool {
			alive, known := g.Counts()
			return alive != known
		})
	}
	a.sent = func() (messages, _ uint64) {
		for _, g := range all {
			s := g.Status()
			messages += s.Stats.PingsSent + s.Stats.RepliesSent
		}
		return messages, 0
	}
}

// cost measures what the process uses in some seconds of wall time, first with the agents and
// then without them. The difference is what the agents cost. Before each measurement it waits for
// the duration in the argument while.
func (a *agents) cost(b *measurement, while time.Duration, seconds int) (c cost) {
	b.check(wait(b.ctx, while)) // wait until links and connections are stable
	counted, others := a.sent()
	busy := spend(b, seconds)
	then, more := a.sent()
	if c.messages = then - counted; c.messages == 0 || more > others {
		b.check(fmt.Errorf("%d messages that are counted, and %d others", c.messages, more-others))
	}
	a.stop()
	idle := spend(b, seconds)
	c.CPU, c.Mallocs = max(busy.CPU-idle.CPU, 0), busy.Mallocs-min(busy.Mallocs, idle.Mallocs)
	return c
}

// stop closes the agents, but not their nodes.
func (a *agents) stop() {
	for _, end := range a.ends {
		end()
	}
	a.ends = nil
}

func (a *agents) close() {
	a.stop()
	var wg sync.WaitGroup
	for _, n := range a.nodes {
		wg.Go(n.close)
	}
	wg.Wait()
}

// await waits until done returns true. After the duration patience it returns an error.
func await(ctx context.Context, patience time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// spend waits some seconds and returns the resources that this process has used in that time.
func spend(b *measurement, seconds int) usage {
	before, _ := ownUsage(struct{}{})
	b.check(wait(b.ctx, time.Duration(seconds)*time.Second))
	after, _ := ownUsage(struct{}{})
	return after.minus(before)
}

// wait waits for d or the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
