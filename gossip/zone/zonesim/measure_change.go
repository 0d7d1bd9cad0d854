package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
)

// Boot starts all nodes at once, and returns when the last view became right: all nodes, and no
// others (G-MS-1).
func (m Measured) Boot(ctx context.Context) (took time.Duration, err error) {
	n, err := m.net()
	if err != nil {
		return 0, err
	}
	n.cfg.Tell = func(at time.Duration, _ sim.NodeID, e *engine.Event) {
		if e.Kind == engine.Joined || e.Kind == engine.Left {
			took = at
		}
	}
	return took, m.until(ctx, n, 10*time.Millisecond, func() (bool, string) { return n.Equal(sim.AllNodes, true) })
}

// Change says how soon nodes learn that others left or joined.
type Change struct {
	Nodes    int           // number of nodes that left or joined at once
	Detected time.Duration // time until the first neighbour suspects the last of these nodes
	Late     time.Duration // time from the first suspicion of a node until the last other node knew of it, for the node that took longest
	Mean     time.Duration // mean over all pairs of a node that left and a node that stayed
	Last     time.Duration // time until the last node knew of the change
	Back     time.Duration // time until all nodes had the restarted ones in their views
}

// Leave kills the first nodes at once and starts them again, for each of the given numbers of
// nodes (G-MS-2).
func (m Measured) Leave(ctx context.Context, numbers ...int) (list []Change, err error) {
	n, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range numbers {
		if err := m.rest(n); err != nil {
			return nil, err
		}
		c, err := m.leave(ctx, n, k)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if v := n.Outcome(); v.False > 0 {
		return nil, fmt.Errorf("zonesim: %d false removals: %s", v.False, v.Wrong)
	}
	return list, nil
}

func (m Measured) leave(ctx context.Context, n *Net, k int) (c Change, err error) {
	begin, sum, pairs := n.Now(), time.Duration(0), 0
	suspected := make([]time.Duration, k) // when each node was suspected; 0: it was not
	right := func() (bool, string) { return n.Equal(sim.AllNodes, true) }
	n.cfg.Tell = func(at time.Duration, _ sim.NodeID, e *engine.Event) {
		subject, _ := n.nodeOf(e.ID)
		switch {
		case int(subject) >= k:
		case e.Kind == engine.Suspected && suspected[subject] == 0:
			suspected[subject], c.Detected = at, at-begin
		case e.Kind == engine.Left:
			c.Last, c.Late = at-begin, max(c.Late, at-suspected[subject])
			sum += c.Last
			pairs++
		}
	}
	for id := range k {
		n.Kill(sim.NodeID(id))
	}
	if err := m.until(ctx, n, 10*time.Millisecond, right); err != nil {
		return c, err
	}
	if want := k * (m.Nodes - k); pairs != want {
		return c, fmt.Errorf("zonesim: %d pairs of %d heard that one left", pairs, want)
	}
	c.Nodes, c.Mean = k, sum/time.Duration(pairs)
	begin = n.Now()
	n.cfg.Tell = func(at time.Duration, _ sim.NodeID, e *engine.Event) {
		if e.Kind == engine.Joined {
			c.Back = at - begin
		}
	}
	for id := range k {
		n.Start(sim.NodeID(id), false)
	}
	err = m.until(ctx, n, 10*time.Millisecond, right)
	n.cfg.Tell = nil
	return c, err
}

// Idle is the traffic of a zone without changes, per node and second.
type Idle struct {
	Heartbeats float64 // bytes of heartbeats that a node sends per second
	Others     uint64  // bytes of other messages, of all nodes, in the whole time
	Messages   float64 // number of heartbeats that a node sends per second
	Links      float64 // number of links of a node
}

// Rest counts bytes in a zone that has come to rest (G-MS-5).
func (m Measured) Rest(ctx context.Context, length time.Duration) (i Idle, err error) {
	n, err := m.start(ctx)
	if err != nil {
		return i, err
	}
	if err := n.Run(n.Now() + 30*time.Second); err != nil {
		return i, err
	}
	bytes, messages := 0, 0
	n.cfg.Spy = func(_, _ sim.NodeID, m *wire.Message, size int) {
		if m.Kind == wire.Heartbeat {
			bytes += size
			messages++
		} else {
			i.Others += uint64(size)
		}
	}
	if err := n.Run(n.Now() + length); err != nil {
		return i, err
	}
	links := 0
	var list []wire.Ref
	for id := range n.Nodes() {
		list = n.Machine(sim.NodeID(id)).Neighbours(list[:0])
		links += len(list)
	}
	each := float64(m.Nodes) * length.Seconds()
	i.Heartbeats, i.Messages, i.Links = float64(bytes)/each, float64(messages)/each, float64(links)/float64(m.Nodes)
	return i, nil
}

// Spread says how fast an attribute reaches all nodes.
type Spread struct {
	Mean, Last time.Duration // time from the write until a node has the attribute: on average, and for the last node
	Received   float64       // entries that were received for each node that needs one
}

// Write makes some nodes write an attribute, one after the other (G-MS-7).
func (m Measured) Write(ctx context.Context, writes int) (s Spread, err error) {
	n, err := m.start(ctx)
	if err != nil {
		return s, err
	}
	if err := m.rest(n); err != nil {
		return s, err
	}
	entries, sum, told := n.Counters().Entries, time.Duration(0), 0
	for k := range writes {
		begin, writer := n.Now(), sim.NodeID((m.Seed+uint64(k)*7919)%uint64(m.Nodes))
		before := told
		n.cfg.Tell = func(at time.Duration, node sim.NodeID, e *engine.Event) {
			if id, _ := n.nodeOf(e.ID); e.Kind == engine.AttributesChanged && id == writer && node != writer {
				sum, told = sum+at-begin, told+1
				s.Last = max(s.Last, at-begin)
			}
		}
		n.Command(writer, fmt.Sprintf("set key value%d", k))
		err := m.until(ctx, n, 10*time.Millisecond, func() (bool, string) {
			return told-before == m.Nodes-1, fmt.Sprintf("%d of %d nodes have the attribute", told-before, m.Nodes-1)
		})
		if err != nil {
			return s, err
		}
		// The seed determines the phase of the next write within the rounds.
		if err := n.Run(n.Now() + 3*time.Second + time.Duration(m.Seed*31%200)*time.Millisecond); err != nil {
			return s, err
		}
	}
	s.Mean = sum / time.Duration(max(told, 1))
	s.Received = float64(n.Counters().Entries-entries) / float64(writes*(m.Nodes-1))
	return s, nil
}
