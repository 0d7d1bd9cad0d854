package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
)

// Healing is what it took until a zone was one again.
type Healing struct {
	Apart    int           // nodes that had others removed when the partition ended
	Contact  time.Duration // from its end until a message from the other side arrived
	Rarest   time.Duration // how rarely a node asked those it had removed, at most
	Took     time.Duration // from the contact until all views were right
	Diameter int           // of the overlay then
}

// Heal separates some first nodes from the others for a while (G-MS-6).
func (m Measured) Heal(ctx context.Context, first int) (h Healing, err error) {
	n, err := m.start(ctx)
	if err != nil {
		return h, err
	}
	if err := m.rest(n); err != nil {
		return h, err
	}
	n.Partition(sim.NodeRange(0, sim.NodeID(first-1)), sim.NodeRange(sim.NodeID(first), sim.NodeID(m.Nodes-1)))
	if err := n.Run(n.Now() + 30*time.Second); err != nil {
		return h, err
	}
	for id := range n.Nodes() {
		if s := n.Machine(sim.NodeID(id)).Status(); s.Members < m.Nodes {
			h.Apart++
			h.Rarest = max(h.Rarest, s.Discovery)
		}
	}
	n.Heal()
	begin, contact := n.Now(), never
	n.cfg.Spy = func(from, to sim.NodeID, _ *engine.Message, _ int) {
		if (int(from) < first) != (int(to) < first) && contact == never {
			contact = n.Now() + RTT/2
		}
	}
	last := begin
	n.cfg.Tell = func(at time.Duration, _ sim.NodeID, e *engine.Event) {
		if e.Kind == engine.Joined || e.Kind == engine.Left {
			last = at
		}
	}
	err = m.until(ctx, n, 10*time.Millisecond, func() (bool, string) { return n.Equal(sim.AllNodes, true) })
	if err != nil {
		return h, err
	}
	if contact == never {
		return h, fmt.Errorf("zonesim: %d nodes had removed others, and nothing came from the other side", h.Apart)
	}
	h.Contact, h.Took, h.Diameter = contact-begin, max(last-contact, 0), n.diameter()
	return h, nil
}

// diameter is how many links the longest of the shortest ways has in the first zone; of
// large zones, of those from some nodes.
func (n *Net) diameter() (most int) {
	g := n.groups[0]
	for from := range min(g.count, 64) {
		far := make([]int, g.count)
		queue := []int{from}
		var list []engine.Ref
		for len(queue) > 0 {
			i := queue[0]
			queue = queue[1:]
			list = n.Machine(g.first + sim.NodeID(i)).Neighbours(list[:0])
			for _, r := range list {
				if k := g.at(r); k >= 0 && k != from && far[k] == 0 {
					far[k] = far[i] + 1
					most = max(most, far[k])
					queue = append(queue, k)
				}
			}
		}
	}
	return most
}

// Slowness is what came of nodes that are slow, or stand still at times.
type Slowness struct {
	Removed uint64 // told: of the others
	Slow    uint64 // told: of them
}

// Slow makes every step of the first nodes cost some time, for a while (G-MS-8).
func (m Measured) Slow(ctx context.Context, first int, step, length time.Duration) (s Slowness, err error) {
	n, err := m.watched(ctx, first, &s)
	if err != nil {
		return s, err
	}
	for id := range first {
		n.SetSlow(sim.NodeID(id), step)
	}
	return s, n.Run(n.Now() + length)
}

// Block stops the first nodes for a time and lets them go on for another, in turns, for
// a while; it counts too what they think of the others when they wake (G-MS-8, MS-A29).
func (m Measured) Block(ctx context.Context, first int, blocked, open, length time.Duration) (s Slowness, err error) {
	n, err := m.watched(ctx, first, &s)
	if err != nil {
		return s, err
	}
	for end := n.Now() + length; err == nil && n.Now() < end; {
		for id := range first {
			n.Pause(sim.NodeID(id))
		}
		if err = n.Run(n.Now() + blocked); err != nil {
			break
		}
		for id := range first {
			n.Resume(sim.NodeID(id))
		}
		err = n.Run(n.Now() + open)
	}
	if err == nil {
		err = m.rest(n)
	}
	return s, err
}

// watched is a zone at rest whose removals are counted from now on.
func (m Measured) watched(ctx context.Context, first int, s *Slowness) (*Net, error) {
	n, err := m.start(ctx)
	if err == nil {
		err = m.rest(n)
	}
	if err != nil {
		return n, err
	}
	n.cfg.Tell = func(_ time.Duration, _ sim.NodeID, e *engine.Event) {
		switch id, _ := n.nodeOf(e.ID); {
		case e.Kind != engine.Left:
		case int(id) < first:
			s.Slow++
		default:
			s.Removed++
		}
	}
	return n, nil
}
