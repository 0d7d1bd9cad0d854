package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// agentHeartbeat is the heartbeat interval of agents over TCP, which is shorter than the default
// so that many heartbeats are sent during a measurement.
const agentHeartbeat = 200 * time.Millisecond

// measureZoneRest measures goal G-MS-5: the traffic of an idle zone, and its cost.
func measureZoneRest(b *measurement) {
	nodes, seconds := pick(b, 256, 2048, 2048), pick(b, 10, 30, 300)
	machine := simulatedZoneCost(b, nodes, seconds, false)
	perSecond := float64(nodes * seconds)
	sent, bytes := float64(machine.messages)/perSecond, float64(machine.bytes)/perSecond
	basis := fmt.Sprintf("%d nodes at rest; %s", nodes, zoneBasis)
	b.add(
		line{what: "idle zone: messages besides heartbeats", ratio: float64(machine.others), unit: "messages", limit: 0, basis: basis},
		line{what: "idle zone: links of a node, on average", ratio: machine.links, unit: "links", limit: 10, basis: basis},
		line{what: "idle zone: heartbeats of a node in a second", ratio: bytes, unit: "B", limit: 640, basis: fmt.Sprintf("%.2f messages of %d B; %s", sent, int(bytes/sent+0.5), basis)},
	)
	measureZoneCost(b, machine.cost, nodes, seconds)
}

// measureZoneCost measures the part of goal G-MS-5 about the cost of an idle node for its host.
// The cost of the bare state machines has been measured before, and is passed in machine.
func measureZoneCost(b *measurement, machine cost, nodes, seconds int) {
	runtime.GC()
	stacks := pick(b, 64, 512, 2048)
	stack := simulatedZoneCost(b, stacks, pick(b, 2, 10, 60), true)
	if stack.others > 0 {
		b.check(fmt.Errorf("%d messages besides heartbeats of a zone at rest", stack.others))
	}
	runtime.GC() // frees what the simulated stacks have used
	a := newAgents(b, zoneAgents)
	defer a.close()
	agents := a.cost(b, pick(b, 3*time.Second, 8*time.Second, 8*time.Second), pick(b, 1, 10, 60))
	// each is the number of messages that a node sends per second.
	each := float64(machine.messages) / float64(nodes*seconds)
	cpu := func(what string, c cost, more string) line {
		return line{
			what: fmt.Sprintf("CPU of an idle node of %d, %s", nodes, what), ratio: 100 * each * c.CPU.Seconds() / float64(c.messages), unit: "%", limit: 0.2,
			basis: fmt.Sprintf("of a core; %.1f heartbeats sent and as many received in a second, %.2f µs for both; %s", each, c.CPU.Seconds()*1e6/float64(c.messages), more),
		}
	}
	const tcp = "agent over TCP on loopback"
	b.add(
		cpu("machine", machine, "with its share of the simulator"),
		cpu("agent above portals and LNet", stack.cost, fmt.Sprintf("a zone of %d, with its share of the simulated network", stacks)),
		cpu(tcp, agents, fmt.Sprintf("%d agents that send each other one in %v, less what their nodes take without them", fewNodes, agentHeartbeat)),
		machine.allocations("allocations per heartbeat, machine", ""),
		agents.allocations("allocations per heartbeat, "+tcp, " more than without zones"),
	)
}

// idleZone is what a simulated zone sent while it was at rest.
type idleZone struct {
	cost           // CPU time and allocations, and the number of heartbeats over which they are spread
	bytes  uint64  // bytes of all messages
	others uint64  // number of messages other than heartbeats
	links  float64 // number of links of a node; 0 if whole stacks are simulated
}

// simulatedZoneCost runs an idle zone for some seconds of virtual time, with state machines
// alone or with whole stacks.
func simulatedZoneCost(b *measurement, nodes, seconds int, stacks bool) (z idleZone) {
	n := must(zonesim.New(zonesim.Config{
		Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: zonesim.RTT / 2}}}}, Stacks: stacks,
	}))
	b.check(n.Run(20 * time.Second))
	if ok, why := n.Equal(sim.AllNodes, true); !ok {
		b.check(errors.New(why))
	}
	before, bytes := n.Counters().Sent, n.Stats().SentBytes
	z.usage = b.simulated(func() error { return n.Run(n.Now() + time.Duration(seconds)*time.Second) })
	for kind, sent := range n.Counters().Sent {
		if sent -= before[kind]; wire.Kind(kind) == wire.Heartbeat {
			z.messages = sent
		} else {
			z.others += sent
		}
	}
	z.bytes = n.Stats().SentBytes - bytes
	for id := range nodes {
		if m := n.Machine(sim.NodeID(id)); m != nil {
			z.links += float64(len(m.Neighbours(nil))) / float64(nodes)
		}
	}
	return z
}
