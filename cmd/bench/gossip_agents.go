package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
)

// agents are gossip agents over TCP on loopback, all in this process.
type agents struct {
	nodes  []*node
	agents []*gossip.Agent

	mu     sync.Mutex
	victim nid.NID           // guarded by mu
	noted  map[int]time.Time // when an agent was told that the victim is dead; guarded by mu
}

// How many agents there are for deaths, and where all pairs must have met
// soon because a first message opens connections.
const (
	loopbackNodes = 64
	fewNodes      = 8
)

func newAgents(nodes int) (a *agents, err error) {
	a = &agents{noted: make(map[int]time.Time)}
	var addrs []netip.Addr
	for i := range nodes {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return nil, err
	}
	var ids []nid.NID
	for _, addr := range addrs {
		n, err := newNode(addr, port, lnd.Tunables{})
		if err != nil {
			a.close()
			return nil, err
		}
		a.nodes = append(a.nodes, n)
		ids = append(ids, n.id.NID)
	}
	for i, n := range a.nodes {
		agent, err := gossip.New(n.table, gossip.Config{
			Participants: ids, Interval: gossipsim.Interval, ColdStart: true, Seed: uint64(i),
		})
		if err != nil {
			a.close()
			return nil, err
		}
		a.agents = append(a.agents, agent)
		agent.Watch(func(id nid.NID, alive bool, _ uint64) { a.told(i, id, alive) })
	}
	return a, nil
}

// told notes what agent i was told.
func (a *agents) told(i int, id nid.NID, alive bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case id != a.victim:
	case alive:
		delete(a.noted, i)
	default:
		a.noted[i] = time.Now()
	}
}

// gathered reports whether all know all.
func (a *agents) gathered() bool {
	for _, g := range a.agents {
		if alive, known := g.Counts(); alive != known {
			return false
		}
	}
	return true
}

// kill ends the last node and returns when the last of the others knew.
func (a *agents) kill(ctx context.Context, i int) (time.Duration, error) {
	a.mu.Lock()
	a.victim, a.noted = a.nodes[i].id.NID, make(map[int]time.Time)
	a.mu.Unlock()
	begin := time.Now()
	_ = a.agents[i].Close(context.Background())
	a.nodes[i].close()
	a.nodes, a.agents = a.nodes[:i], a.agents[:i]
	var last time.Time
	err := await(ctx, 30*time.Second, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for k := range a.agents {
			at, ok := a.noted[k]
			if !ok {
				return false
			}
			if at.After(last) {
				last = at
			}
		}
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("a death is not noticed: %w", err)
	}
	return last.Sub(begin), nil
}

// await waits until something is the case.
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

func (a *agents) close() {
	for _, g := range a.agents {
		_ = g.Close(context.Background())
	}
	var wg sync.WaitGroup
	for _, n := range a.nodes {
		wg.Go(n.close)
	}
	wg.Wait()
}

// measureAgents measures agents that talk over TCP, for some seconds of wall
// time after they have met.
func measureAgents(ctx context.Context, seconds int) (c cost, err error) {
	a, err := newAgents(fewNodes)
	if err != nil {
		return c, err
	}
	defer a.close()
	if err := await(ctx, 20*time.Second, a.gathered); err != nil {
		return c, fmt.Errorf("the agents do not find each other: %w", err)
	}
	if err := wait(ctx, 8*time.Second); err != nil { // until all pairs have met
		return c, err
	}
	before, cycles := a.count()
	objects, cpu, err := spend(ctx, seconds)
	if err != nil {
		return c, err
	}
	messages, more := a.count()
	for _, g := range a.agents {
		_ = g.Close(context.Background())
	}
	idle, idleCPU, err := spend(ctx, seconds) // what the nodes cost beside it
	if err != nil {
		return c, err
	}
	c.messages, c.objects = messages-before, int(objects)-int(idle)
	c.allocations = float64(max(c.objects, 0)) / float64(c.messages)
	c.perCycle = (cpu - idleCPU) / time.Duration(more-cycles)
	return c, nil
}

// spend lets some seconds pass and returns what this process has used.
func spend(ctx context.Context, seconds int) (objects uint64, cpu time.Duration, err error) {
	objects, cpu = ownMallocs(), cpuTime()
	err = wait(ctx, time.Duration(seconds)*time.Second)
	return ownMallocs() - objects, cpuTime() - cpu, err
}

// wait lets some time pass without doing anything.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// count is how many messages the agents have sent, and in how many cycles.
func (a *agents) count() (messages, cycles uint64) {
	for _, g := range a.agents {
		s := g.Status()
		messages += s.Stats.PingsSent + s.Stats.RepliesSent
		cycles += s.Cycle
	}
	return messages, cycles
}
