package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
)

// membershipTrial is what a system for membership goes through: everybody joins, traffic is
// measured, one node comes, one writes an attribute, one says goodbye, one dies, one falls
// silent, some are paused.
type membershipTrial struct {
	bench    *bench
	nodes    int
	interval time.Duration // of gossip and of memberlist; zone and memberlist-lan have their defaults
	calm     time.Duration // after the start; gossip has a cycle for each node at least
	measure  time.Duration // of traffic and CPU
	paused   int           // how many are stopped and continued
	pauses   int           // how often
}

// membership is what one system did.
type membership struct {
	system  system
	nodes   int
	join    time.Duration // until all know all
	bytes   float64       // payload, of a node in a second
	packets float64
	cpu     float64 // per cent of a core, of a node

	// Since when the others knew, on average and the last. What gossip does not have is 0.
	newcomer, attribute, goodbye, death, silence sideSpread

	// While some nodes were stopped and continued: how often others, which were well, were
	// said to be dead, and how often a dead one was said to be alive.
	falseDeaths, returns int
}

// sideSpread is how long it took until others knew of something.
type sideSpread struct{ mean, last time.Duration }

// The parts of the script.
const (
	joinLimit   = 90 * time.Second // memberlist joins 64 nodes in 65 s at times
	detectLimit = 40 * time.Second
	blocked     = 8 * time.Second
	open        = 100 * time.Millisecond
	settled     = 5 * time.Second
)

// Who does what.
const (
	setter   = 0 // writes an attribute
	victim   = 1 // dies
	leaver   = 2 // says goodbye
	silenced = 3 // is stopped for ever
	writes   = 3
)

// run runs one system.
func (t *membershipTrial) run(ctx context.Context, of system) (m membership, err error) {
	m = membership{system: of, nodes: t.nodes}
	c, err := t.bench.newCluster(ctx, of, rival.Node{Nodes: t.nodes, Interval: t.interval}, nil)
	if err != nil {
		return m, err
	}
	defer c.end()
	parts := []func(*cluster, *membership) error{t.join, t.traffic, c.newcomer, c.attribute, c.goodbye, c.die, t.silence, t.pause}
	if !of.changes {
		parts = slices.Delete(parts, 2, 5)
	}
	for _, part := range parts {
		if err := part(c, &m); err != nil {
			return m, fmt.Errorf("%s: %w", of.name, err)
		}
	}
	return m, nil
}

// join waits until everybody knows everybody.
func (t *membershipTrial) join(c *cluster, m *membership) error {
	began := time.Now()
	err := c.join()
	m.join = time.Since(began)
	if err == nil {
		_, err = worker.ReadyAll[time.Time](c.living())
	}
	return err
}

// traffic measures bytes and CPU of a cluster in which nothing happens.
func (t *membershipTrial) traffic(c *cluster, m *membership) error {
	calm := t.calm
	if !m.system.changes { // gossip carries its parameters in its first N cycles
		calm = max(calm, min(time.Duration(t.nodes+5)*t.interval, time.Minute))
	}
	if err := wait(c.ctx, calm); err != nil {
		return err
	}
	before, err := c.traffic()
	if err != nil {
		return err
	}
	at := time.Now()
	if err := wait(c.ctx, t.measure); err != nil {
		return err
	}
	after, err := c.traffic()
	per := time.Since(at).Seconds() * float64(t.nodes)
	m.bytes = float64(after.Bytes-before.Bytes) / per
	m.packets = float64(after.Messages-before.Messages) / per
	m.cpu = 100 * (after.CPU - before.CPU).Seconds() / per
	return err
}

// newcomer starts one node more.
func (c *cluster) newcomer(_ *cluster, m *membership) error {
	node := len(c.nodes)
	if err := c.startNode(); err != nil {
		return err
	}
	at, err := worker.Ready[time.Time](c.nodes[node].Process)
	if err == nil {
		m.newcomer, err = c.told(rival.Up, node, at)
	}
	return err
}

// attribute has a node write an attribute some times.
func (c *cluster) attribute(_ *cluster, m *membership) error {
	var all []time.Duration
	for k := range writes {
		value := fmt.Sprint(k + 1)
		at, err := worker.Ask[time.Time](c.nodes[setter].Process, "set", value)
		if err != nil {
			return err
		}
		list, err := c.observe("an attribute", setter, at, nil, func(e event) bool { return e.Kind == rival.Attribute && e.Value == value })
		if err = errors.Join(err, wait(c.ctx, time.Second)); err != nil {
			return err
		}
		all = append(all, list...)
	}
	m.attribute = spreadOf(all)
	return nil
}

// goodbye has a node leave, and ends it when all know.
func (c *cluster) goodbye(_ *cluster, m *membership) error {
	at, err := worker.Ask[time.Time](c.nodes[leaver].Process, "leave", nil)
	if err != nil {
		return err
	}
	c.nodes[leaver].gone = true
	if m.goodbye, err = c.told(rival.Down, leaver, at); err != nil {
		return err
	}
	return c.signal(syscall.SIGKILL, leaver)
}

// die kills a node and waits until all others know.
func (c *cluster) die(_ *cluster, m *membership) error {
	at := time.Now()
	err := c.signal(syscall.SIGKILL, victim)
	if err == nil {
		m.death, err = c.told(rival.Down, victim, at)
	}
	return err
}

// silence stops a node for ever: its host answers, as that of a hanging server does,
// and it does not.
func (t *membershipTrial) silence(c *cluster, m *membership) error {
	if silenced >= t.nodes-1-t.paused {
		return nil // too few are left
	}
	at := time.Now()
	c.nodes[silenced].gone = true
	err := c.signal(syscall.SIGSTOP, silenced)
	if err == nil {
		m.silence, err = c.told(rival.Down, silenced, at)
	}
	return errors.Join(err, c.signal(syscall.SIGKILL, silenced))
}

// pause stops and continues some nodes: 8 s blocked, 0.1 s open.
func (t *membershipTrial) pause(c *cluster, m *membership) error {
	if t.paused == 0 || t.pauses == 0 {
		return nil
	}
	var ill []int
	for i := range t.paused {
		ill = append(ill, t.nodes-1-i)
	}
	at := time.Now()
	for range t.pauses {
		for _, step := range []struct {
			signal syscall.Signal
			lasts  time.Duration
		}{{syscall.SIGSTOP, blocked}, {syscall.SIGCONT, open}} {
			if err := errors.Join(c.signal(step.signal, ill...), wait(c.ctx, step.lasts)); err != nil {
				return err
			}
		}
	}
	err := wait(c.ctx, settled)
	for _, e := range c.since(at) {
		switch {
		case e.Kind == rival.Up && c.nodes[e.Node].gone:
			m.returns++
		case e.Kind == rival.Down && !slices.Contains(ill, e.Node) && !c.nodes[e.Node].gone:
			m.falseDeaths++
		}
	}
	return err
}
