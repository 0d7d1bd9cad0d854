package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
)

// system is a membership system whose nodes are worker processes.
type system struct {
	name    string
	program string // program of the workers; empty if it is this program
	changes bool   // nodes can join late and leave, and have attributes
}

// cluster consists of the processes of one system.
type cluster struct {
	*measurement
	config worker.Config
	node   rival.Node
	within func(i int) func(func() error) error
	nodes  []*clusterNode

	mu     sync.Mutex
	events []event // events that the workers have reported; guarded by mu
}

// clusterNode is one node of a cluster.
type clusterNode struct {
	*worker.Process
	gone bool // the node was killed, was stopped for good, or has left
}

// event is a report of a node about another.
type event struct {
	by int
	rival.News
}

// newCluster starts the nodes of a system. If node.Base is not valid, the nodes run on loopback.
// Otherwise within(i) returns the function that starts node i.
func (b *measurement) newCluster(of system, node rival.Node, within func(i int) func(func() error) error) *cluster {
	if !node.Base.IsValid() {
		node.Base = netip.AddrFrom4([4]byte{127, 0, 77, 1})
		within = func(int) func(func() error) error { return nil }
		var addrs []netip.Addr
		for i := range node.Nodes + 1 { // one more for the node that joins later
			addrs = append(addrs, node.Addr(i))
		}
		node.Port = must(loopback.FreePort(addrs...))
	}
	c := &cluster{
		measurement: b, node: node, within: within,
		config: worker.Config{Kind: of.name, Program: of.program, Patience: detectLimit},
	}
	for range node.Nodes {
		if err := c.startNode(); err != nil {
			c.end()
			b.check(err)
		}
	}
	return c
}

// join waits until all live nodes know each other.
func (c *cluster) join() {
	if err := await(c.ctx, joinLimit, c.joined); err != nil {
		c.check(fmt.Errorf("not all of %d nodes have joined: %w", len(c.living()), err))
	}
}

func (c *cluster) joined() bool {
	known := map[[2]int]bool{}
	for _, e := range c.since(time.Time{}) {
		if e.by != e.Node && e.Kind != rival.Attribute && !c.nodes[e.by].gone && !c.nodes[e.Node].gone {
			known[[2]int{e.by, e.Node}] = e.Kind == rival.Up
		}
	}
	n := 0
	for _, up := range known {
		if up {
			n++
		}
	}
	living := len(c.living())
	return n == living*(living-1)
}

// startNode starts the next node.
func (c *cluster) startNode() error {
	node, cfg := c.node, c.config
	node.Index = len(c.nodes)
	cfg.Params, cfg.Within = node, c.within(node.Index)
	cfg.Event = worker.On(func(n rival.News) {
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

// since returns the events after an instant.
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

// living returns the processes of the nodes that are not gone.
func (c *cluster) living() (crew worker.Crew) {
	for _, n := range c.nodes {
		if !n.gone {
			crew = append(crew, n.Process)
		}
	}
	return crew
}

// traffic returns the sum of the traffic of all nodes.
func (c *cluster) traffic() (sum rival.Traffic) {
	for _, t := range must(worker.AskAll[rival.Traffic](c.living(), "traffic", nil)) {
		sum = rival.Traffic{Bytes: sum.Bytes + t.Bytes, Messages: sum.Messages + t.Messages, CPU: sum.CPU + t.CPU}
	}
	return sum
}

// signal sends a signal to the given nodes.
func (c *cluster) signal(s syscall.Signal, nodes ...int) {
	for _, i := range nodes {
		c.check(c.nodes[i].Signal(s))
		c.nodes[i].gone = c.nodes[i].gone || s == syscall.SIGKILL
	}
}

// observe waits until other nodes have reported an event about a node: the nodes in the argument by or,
// if by is nil, all other live nodes. It returns, for each of these nodes, the time between the instant
// from and its first report.
func (c *cluster) observe(what string, node int, from time.Time, by []int, is func(event) bool) (list []time.Duration) {
	if by == nil {
		for i, n := range c.nodes {
			if i != node && !n.gone {
				by = append(by, i)
			}
		}
	}
	err := await(c.ctx, detectLimit, func() bool {
		told := map[int]time.Duration{}
		for _, e := range c.since(from) {
			if _, before := told[e.by]; !before && e.Node == node && slices.Contains(by, e.by) && is(e) {
				told[e.by] = e.At.Sub(from)
			}
		}
		list = slices.Collect(maps.Values(told))
		return len(list) == len(by)
	})
	if err != nil {
		c.check(fmt.Errorf("%d of %d nodes know of %s: %w", len(list), len(by), what, err))
	}
	return list
}

// told returns the mean and the longest time until the other live nodes knew of a change of a node. If
// nodes are listed in the argument by, only these count.
func (c *cluster) told(kind rival.Change, node int, from time.Time, by ...int) sideSpread {
	return spreadOf(c.observe(fmt.Sprintf("node %d, which is %s,", node, kind), node, from, by, func(e event) bool { return e.Kind == kind }))
}

// spreadOf returns the mean and the maximum of a list.
func spreadOf(list []time.Duration) (s sideSpread) {
	for _, d := range list {
		s.mean += d / time.Duration(len(list))
		s.last = max(s.last, d)
	}
	return s
}

// end kills all processes.
func (c *cluster) end() {
	for _, n := range c.nodes {
		_ = n.Signal(syscall.SIGKILL) // it fails if the process has already ended, which makes no difference
		_ = n.Stop()                  // the error says that the process was killed
	}
}
