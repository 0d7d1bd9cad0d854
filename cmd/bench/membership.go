package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
)

// membershipTrial is the script for a membership system: all nodes join, the traffic is
// measured, one node joins later, one writes an attribute, one leaves, one dies, one becomes
// silent, and some are paused.
type membershipTrial struct {
	nodes    int
	interval time.Duration // gossip interval of gossip and memberlist; zone and memberlist-lan use their defaults
	calm     time.Duration // time before the traffic is measured; for gossip it is at least as many cycles as there are nodes
	measured time.Duration // time over which traffic and CPU time are measured
	paused   int           // number of nodes that are paused: stopped and continued
	pauses   int           // how often each of the paused nodes is stopped
}

// membership has the measurements of one system.
type membership struct {
	system  system
	nodes   int
	join    time.Duration // time until all nodes know all nodes
	bytes   float64       // bytes of payload that a node sends per second
	packets float64
	cpu     float64 // CPU time of a node, in percent of a core

	// Times until the other nodes knew of each event. They are 0 for events that gossip does not
	// have.
	newcomer, attribute, goodbye, death, silence sideSpread

	// These count false reports while some nodes were stopped and continued: reports that a healthy
	// node is dead, and reports that a dead node is alive.
	falseDeaths, returns int
}

// sideSpread is the time until other nodes knew of an event: the mean, and the time of the last
// node.
type sideSpread struct{ mean, last time.Duration }

// Limits and parameters of the script.
const (
	joinLimit   = 4 * time.Minute // memberlist sometimes takes 65 s until 64 nodes have joined
	detectLimit = 2 * time.Minute
	blocked     = 8 * time.Second
	open        = 100 * time.Millisecond
	settled     = 5 * time.Second
)

// Indexes of the nodes that have a task in the script.
const (
	setter   = 0 // the node that writes an attribute
	victim   = 1 // the node that is killed
	leaver   = 2 // the node that leaves
	silenced = 3 // the node that is stopped by SIGSTOP and never continued
	writes   = 3
)

// run runs the script with one system.
func (t *membershipTrial) run(b *measurement, of system) *membership {
	m := &membership{system: of, nodes: t.nodes}
	c := b.newCluster(of, rival.Node{Nodes: t.nodes, Interval: t.interval}, nil)
	defer c.end()
	began := time.Now()
	c.join()
	m.join = time.Since(began)
	must(worker.ReadyAll[time.Time](c.living()))
	t.traffic(c, m)
	if of.changes {
		m.newcomer = c.newcomer()
		m.attribute = c.attribute()
		m.goodbye = c.goodbye()
	}
	at := time.Now()
	c.signal(syscall.SIGKILL, victim)
	m.death = c.told(rival.Down, victim, at)
	if silenced < t.nodes-1-t.paused { // the pauses are skipped if too few nodes would be left
		m.silence = c.silence()
	}
	t.pause(c, m)
	return m
}

// traffic measures bytes and CPU while nothing happens.
func (t *membershipTrial) traffic(c *cluster, m *membership) {
	calm := t.calm
	// Only gossip has a fixed set of nodes. In its first cycles, as many as the cluster has nodes, each
	// node puts its parameters into all messages. The traffic is measured after these cycles.
	if !m.system.changes {
		calm = max(calm, min(time.Duration(t.nodes+5)*t.interval, time.Minute))
	}
	c.check(wait(c.ctx, calm))
	before, at := c.traffic(), time.Now()
	c.check(wait(c.ctx, t.measured))
	after := c.traffic()
	per := time.Since(at).Seconds() * float64(t.nodes)
	m.bytes = float64(after.Bytes-before.Bytes) / per
	m.packets = float64(after.Messages-before.Messages) / per
	m.cpu = 100 * (after.CPU - before.CPU).Seconds() / per
}

// newcomer starts one more node, and returns the time until the other nodes knew of it.
func (c *cluster) newcomer() sideSpread {
	node := len(c.nodes)
	c.check(c.startNode())
	return c.told(rival.Up, node, must(worker.Ready[time.Time](c.nodes[node].Process)))
}

// attribute writes an attribute of one node several times.
func (c *cluster) attribute() sideSpread {
	var all []time.Duration
	for k := range writes {
		value := fmt.Sprint(k + 1)
		at := must(worker.Ask[time.Time](c.nodes[setter].Process, "set", value))
		all = append(all, c.observe("an attribute", setter, at, nil, func(e event) bool { return e.Kind == rival.Attribute && e.Value == value })...)
		c.check(wait(c.ctx, time.Second))
	}
	return spreadOf(all)
}

// goodbye makes a node leave, and ends its process when all others know that it has left.
func (c *cluster) goodbye() sideSpread {
	at := must(worker.Ask[time.Time](c.nodes[leaver].Process, "leave", nil))
	c.nodes[leaver].gone = true
	s := c.told(rival.Down, leaver, at)
	c.signal(syscall.SIGKILL, leaver)
	return s
}

// silence stops a node for good: its host still answers, but the process does not, like a server
// that hangs.
func (c *cluster) silence() sideSpread {
	at := time.Now()
	c.nodes[silenced].gone = true
	c.signal(syscall.SIGSTOP, silenced)
	s := c.told(rival.Down, silenced, at)
	c.signal(syscall.SIGKILL, silenced)
	return s
}

// pause repeatedly stops some nodes for 8 s and lets them run for 0.1 s.
func (t *membershipTrial) pause(c *cluster, m *membership) {
	if t.paused == 0 || t.pauses == 0 {
		return
	}
	var ill []int
	for i := range t.paused {
		ill = append(ill, t.nodes-1-i)
	}
	at := time.Now()
	for range t.pauses {
		c.signal(syscall.SIGSTOP, ill...)
		c.check(wait(c.ctx, blocked))
		c.signal(syscall.SIGCONT, ill...)
		c.check(wait(c.ctx, open))
	}
	c.check(wait(c.ctx, settled))
	for _, e := range c.since(at) {
		switch {
		case e.Kind == rival.Up && c.nodes[e.Node].gone:
			m.returns++
		case e.Kind == rival.Down && !slices.Contains(ill, e.Node) && !c.nodes[e.Node].gone:
			m.falseDeaths++
		}
	}
}
