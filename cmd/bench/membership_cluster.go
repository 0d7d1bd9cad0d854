package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
)

// system is one that is compared: its worker.
type system struct {
	name    string
	program string // empty: this one
	changes bool   // nodes come and go, and have attributes
}

// cluster is the processes of one system.
type cluster struct {
	ctx    context.Context
	bench  *bench
	config worker.Config
	node   rival.Node
	nodes  []*clusterNode

	mu     sync.Mutex
	events []event // guarded by mu
}

// clusterNode is one node.
type clusterNode struct {
	*worker.Process
	gone bool // on purpose: killed, stopped, or it said goodbye
}

// event is what a node was told.
type event struct {
	by int
	rival.News
}

// start starts all nodes.
func (t *membershipTrial) start(ctx context.Context, of system) (*cluster, error) {
	var addrs []netip.Addr
	for i := range t.nodes + 1 { // and a newcomer
		addrs = append(addrs, rival.Addr(i))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		ctx: ctx, bench: t.bench, node: rival.Node{Nodes: t.nodes, Port: port, Interval: t.interval},
		config: worker.Config{Kind: of.name, Program: of.program, Patience: detectLimit},
	}
	for range t.nodes {
		if err := c.startNode(); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// startNode starts the next node.
func (c *cluster) startNode() error {
	node, cfg := c.node, c.config
	node.Index = len(c.nodes)
	cfg.Params, cfg.Event = node, worker.On(func(n rival.News) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, event{node.Index, n})
	})
	p, err := c.bench.start(c.ctx, cfg)
	if err == nil {
		c.nodes = append(c.nodes, &clusterNode{Process: p})
	}
	return err
}

// since returns the events since an instant.
func (c *cluster) since(at time.Time) (list []event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if !e.At.Before(at) {
			list = append(list, e)
		}
	}
	return list
}

// living are the nodes that have not gone on purpose.
func (c *cluster) living() (crew worker.Crew) {
	for _, n := range c.nodes {
		if !n.gone {
			crew = append(crew, n.Process)
		}
	}
	return crew
}

// traffic is that of all nodes.
func (c *cluster) traffic() (sum rival.Traffic, err error) {
	all, err := worker.AskAll[rival.Traffic](c.living(), "traffic", nil)
	for _, t := range all {
		sum = rival.Traffic{Bytes: sum.Bytes + t.Bytes, Messages: sum.Messages + t.Messages, CPU: sum.CPU + t.CPU}
	}
	return sum, err
}

// signal sends a signal to some nodes.
func (c *cluster) signal(s syscall.Signal, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].Signal(s); err != nil {
			return err
		}
		c.nodes[i].gone = c.nodes[i].gone || s == syscall.SIGKILL
	}
	return nil
}

// observe waits until all others that live were told something of a node, and returns how
// long after an instant they first were.
func (c *cluster) observe(what string, node int, from time.Time, is func(event) bool) (list []time.Duration, err error) {
	others := 0
	for i, n := range c.nodes {
		if i != node && !n.gone {
			others++
		}
	}
	err = await(c.ctx, detectLimit, func() bool {
		var by []int
		list = list[:0]
		for _, e := range c.since(from) {
			if e.Node == node && e.by != node && is(e) && !slices.Contains(by, e.by) && !c.nodes[e.by].gone {
				by, list = append(by, e.by), append(list, e.At.Sub(from))
			}
		}
		return len(list) == others
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d nodes know of %s: %w", len(list), others, what, err)
	}
	return list, nil
}

// told is how long it took until all others were told that a node came or went.
func (c *cluster) told(kind rival.Change, node int, from time.Time) (sideSpread, error) {
	list, err := c.observe(fmt.Sprintf("node %d, which is %s,", node, kind), node, from, func(e event) bool { return e.Kind == kind })
	return spreadOf(list), err
}

// spreadOf sums up what observers needed.
func spreadOf(list []time.Duration) (s sideSpread) {
	for _, d := range list {
		s.mean += d / time.Duration(len(list))
		s.last = max(s.last, d)
	}
	return s
}

// end kills what runs.
func (c *cluster) end() {
	for _, n := range c.nodes {
		_ = n.Signal(syscall.SIGKILL) // it may have ended
		_ = n.Stop()                  // killed
	}
}
