package main

import (
	"fmt"
	"runtime"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim/scenario"
)

// memberlistBytes are the payload bytes per second that a node of the Go library memberlist
// sends in a cluster of 64 with the defaults for a local network; memberlistDetection is its
// time to detect a death.
const (
	memberlistBytes     = 95
	memberlistDetection = 11 * time.Second
)

// measureTraffic measures G-GO-5: the bytes that a node sends in a cycle.
func measureTraffic(b *measurement) {
	for _, nodes := range []int{64, 256, pick(b, 128, 1024, 1024)} {
		bytes := gossipTraffic(b, nodes, pick(b, 5, 100, 1000))
		b.add(line{
			what:  fmt.Sprintf("payload per node and cycle, %d nodes, pings and replies", nodes),
			ratio: bytes, unit: "B", limit: 1.35*float64(nodes) + 100, basis: "counted where the simulator takes messages",
		})
		if nodes != 64 {
			continue
		}
		limits := must(engine.Config{Interval: gossipsim.Interval}.Limits(nodes))
		interval := memberlistDetection / time.Duration(limits.Dead+1)
		b.add(line{
			what:  "payload per second to memberlist's at the same time to detection, 64 nodes",
			ratio: bytes / interval.Seconds() / memberlistBytes, limit: 2.2,
			basis: fmt.Sprintf("%.0f B/s at an interval of %v : %d B/s as published for 11 s; above 100 nodes SWIM is cheaper", bytes/interval.Seconds(), interval.Round(time.Millisecond), memberlistBytes),
		})
	}
}

// measureCost measures goal G-GO-8: the CPU time and the allocations that gossip takes at a node.
func measureCost(b *measurement) {
	nodes, cycles := pick(b, 64, 1024, 1024), pick(b, 5, 50, 500)
	machine := gossipCost(b, nodes, false, cycles)
	stack := gossipCost(b, nodes, true, cycles)
	runtime.GC() // frees what the simulated stacks have used
	a := newAgents(b, gossipAgents)
	defer a.close()
	agents := a.cost(b, pick(b, 2*time.Second, 8*time.Second, 8*time.Second), pick(b, 1, 10, 60)) // after the first wait, every pair of agents has exchanged a message
	cpu := func(what string, c cost, more string) line {
		cycle := 2 * c.each() // a node's cycle consists of a ping and a reply
		return line{
			what: "CPU of a node at 200 ms, " + what, ratio: cycle.Seconds() / gossipsim.Interval.Seconds() * 100, unit: "%", limit: 0.1,
			basis: fmt.Sprintf("%.1f µs per cycle%s", cycle.Seconds()*1e6, more),
		}
	}
	const tcp = " over TCP on loopback"
	b.add(
		cpu(fmt.Sprintf("machine, %d nodes", nodes), machine, " with its share of the simulator"),
		cpu(fmt.Sprintf("agent above portals and LNet, %d nodes", nodes), stack, " with its share of the simulated network"),
		cpu(fmt.Sprintf("agent%s, %d nodes", tcp, fewNodes), agents, " with TCP"),
		machine.allocations("allocations per message, machine", ""),
		agents.allocations("allocations per message, agent"+tcp, " more than without gossip"),
	)
}

// gossipNet returns a simulated cluster whose nodes start at the same time.
func gossipNet(nodes int, stacks bool) *gossipsim.Net {
	return must(gossipsim.New(gossipsim.Config{
		Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: gossipsim.Flat(0)}, Bare: true, Stacks: stacks,
		Gossip: gossip.Config{Interval: gossipsim.Interval, ColdStart: true},
	}))
}

// gossipTraffic returns the payload bytes that a node sends per cycle after the first cycles,
// in which messages carry the parameters too.
func gossipTraffic(b *measurement, nodes, cycles int) float64 {
	net := gossipNet(nodes, false)
	b.check(net.Run(net.Cycles(nodes + 60)))
	before := net.Stats().SentBytes
	b.check(net.Run(net.Now() + net.Cycles(cycles)))
	return float64(net.Stats().SentBytes-before) / float64(cycles) / float64(nodes)
}

// gossipCost measures what gossip costs in a simulated cluster in its steady state.
func gossipCost(b *measurement, nodes int, stacks bool, cycles int) (c cost) {
	net := gossipNet(nodes, stacks)
	b.check(net.Run(net.Cycles(nodes / 2))) // run until pools are filled and most pairs have exchanged messages
	sent := net.Counters()
	c.usage = b.simulated(func() error { return net.Run(net.Now() + net.Cycles(cycles)) })
	after := net.Counters()
	c.messages = after.PingsSent + after.RepliesSent - sent.PingsSent - sent.RepliesSent
	return c
}
