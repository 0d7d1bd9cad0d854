package engine

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// troubled is a small cluster in which many kinds of faults occur at the same time.
type troubled struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	now     time.Duration
	old     *List
	next    *List
	nodes   []*troubledNode
	changed bool // the list is being changed
}

type troubledNode struct {
	id     nid.NID
	m      *Machine // nil: the node does not run
	wake   time.Duration
	asleep time.Duration // time until which the node is paused
	side   int           // the side of the partition on which the node is
	inbox  []troubledMessage
	out    Output
}

type troubledMessage struct {
	at time.Duration
	in Input
}

func (c *troubled) boot(n *troubledNode, list *List) {
	var err error
	n.m, err = New(Config{Interval: interval, Seed: c.rng.Uint64()}, list, list.Index(n.id))
	if err != nil {
		c.t.Fatal(err)
	}
	n.inbox = nil
	c.step(n, Input{})
}

func (c *troubled) step(n *troubledNode, in Input) {
	n.out.Reset()
	n.wake = n.m.Step(c.now, in, &n.out)
	if err := n.m.invariants(); err != nil && !n.m.Stopped() || n.wake <= c.now {
		c.t.Fatalf("seed %d, at %v: %v wakes at %v, %v", c.seed, c.now, n.id, n.wake, err)
	}
	if count := alive(n.m); count != n.m.AliveCount() {
		c.t.Fatalf("seed %d, at %v: %v counts %d alive, and has %d", c.seed, c.now, n.id, n.m.AliveCount(), count)
	}
	for i := range n.out.Sends {
		s := &n.out.Sends[i]
		to := c.nodes[slices.IndexFunc(c.nodes, func(o *troubledNode) bool { return o.id == s.To })]
		if to.m == nil || to.side != n.side || c.rng.IntN(20) == 0 {
			continue
		}
		kind := Ping
		if s.Reply {
			kind = Reply
		}
		delay := time.Duration(c.rng.IntN(100)) * time.Millisecond
		to.inbox = append(to.inbox, troubledMessage{c.now + delay, Input{Kind: kind, From: n.id, Data: bytes.Clone(s.Data(&n.out))}})
	}
}

func alive(m *Machine) (count int) {
	for i := range m.Len() {
		if m.health.is(i) {
			count++
		}
	}
	return count
}

func (c *troubled) run(until time.Duration, trouble bool) {
	for ; c.now < until; c.now += 10 * time.Millisecond {
		for _, n := range c.nodes {
			if trouble {
				c.strike(n)
			}
			if n.m == nil || c.now < n.asleep {
				continue
			}
			if c.changed && !n.m.Stopped() && c.rng.IntN(20) == 0 {
				c.roll(n)
			}
			due := n.inbox
			n.inbox = nil
			for _, msg := range due {
				if msg.at > c.now {
					n.inbox = append(n.inbox, msg)
				} else {
					c.step(n, msg.in)
				}
			}
			if n.wake <= c.now {
				c.step(n, Input{})
			}
		}
	}
}

// strike injects a random fault into a node, or none.
func (c *troubled) strike(n *troubledNode) {
	switch c.rng.IntN(2000) {
	case 0:
		n.asleep = c.now + time.Duration(c.rng.IntN(8000))*time.Millisecond
	case 1:
		n.m, n.inbox = nil, nil
	case 2:
		list := c.old
		if c.changed {
			list = c.next
		}
		if n.m == nil && list.Index(n.id) >= 0 {
			c.boot(n, list)
		}
	case 3:
		n.side = c.rng.IntN(2)
	}
}

// roll stages, commits or cancels a change of the list at a node, as an administrator would.
func (c *troubled) roll(n *troubledNode) {
	s := n.m.RollStatus()
	switch {
	case n.m.list == c.next || s.Committed:
	case !s.Staged:
		c.step(n, Input{Kind: Stage, List: c.next, Self: c.next.Index(n.id)})
	case len(s.Missing()) == 0:
		c.step(n, Input{Kind: Commit})
	}
}

// TestTroubled: through pauses, crashes, quick restarts, partitions and loss, with and without
// a change of the list, no machine breaks its invariants. In the end all nodes that run and are
// listed know each other, and no other node (GO-65, GO-74, GO-78, GO-A7, GO-A8, GO-A21).
func TestTroubled(t *testing.T) {
	spec.Covers(t, "GO-65", "GO-74", "GO-78", "GO-A7", "GO-A8", "GO-A21")
	for seed := range uint64(40) {
		sizes := rand.New(rand.NewPCG(seed, 1))
		n := 2 + sizes.IntN(9)
		c := &troubled{t: t, seed: seed, rng: sizes}
		c.old, c.next = newListOf(t, 0, n), newListOf(t, sizes.IntN(max(n-2, 1)), n+1+sizes.IntN(2))
		for _, id := range testNIDs(n + 2) {
			c.nodes = append(c.nodes, &troubledNode{id: id})
		}
		for _, n := range c.nodes {
			if c.old.Index(n.id) >= 0 {
				c.boot(n, c.old)
			}
		}
		c.run(30*time.Second, false)
		c.run(60*time.Second, true)
		for _, n := range c.nodes {
			n.side = 0
		}
		c.run(90*time.Second, false)
		c.agree(c.old)
		c.changed = true
		c.run(93*time.Second, false)
		c.rejoin()
		c.run(120*time.Second, true)
		c.rejoin()
		c.run(200*time.Second, false)
		c.agree(c.next)
	}
}

// rejoin ends the partition, and starts the nodes of the new list that do not run. They start with
// the new list.
func (c *troubled) rejoin() {
	for _, n := range c.nodes {
		n.side = 0
		if n.m == nil && c.next.Index(n.id) >= 0 {
			c.boot(n, c.next)
		}
	}
}

// agree checks that each running node uses the list, and that it considers those nodes alive that
// run, and no others.
func (c *troubled) agree(list *List) {
	c.t.Helper()
	runs := 0
	for _, n := range c.nodes {
		if n.m != nil && list.Index(n.id) >= 0 {
			runs++
		}
	}
	if 2*runs <= list.Len() {
		return // with so many dead participants, news may spread too slowly for the nodes to agree
	}
	for _, n := range c.nodes {
		if n.m == nil || list.Index(n.id) < 0 {
			continue
		}
		if n.m.Stopped() || n.m.list.Digest() != list.Digest() {
			c.t.Errorf("seed %d: %v stopped %v, %d participants, %+v", c.seed, n.id, n.m.Stopped(), n.m.Len(), n.m.RollStatus())
			continue
		}
		for _, o := range c.nodes {
			i := list.Index(o.id)
			if i < 0 {
				continue
			}
			if p := n.m.Participant(i); (p.Health == Alive) != (o.m != nil) {
				c.t.Errorf("seed %d: %v of %d says %+v of a node that runs: %v", c.seed, n.id, list.Len(), p, o.m != nil)
			}
		}
	}
}
