package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
)

// Healing says how long a zone takes to become one again after a partition.
type Healing struct {
	Apart    int           // nodes that had removed others when the partition ended
	Contact  time.Duration // time from the end of the partition until a message from the other side arrived
	Rarest   time.Duration // longest interval between two requests of a node to nodes that it had removed
	Took     time.Duration // time from the first message between the parts of a partition until all views were right
	Diameter int           // diameter of the overlay once all views were right
}

// Heal separates the first nodes from the others for 30 s, and measures how the two parts become
// one zone again (G-MS-6).
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
	n.Observe(func(s sim.Step) {
		if s.Kind == sim.Message && (int(s.From) < first) != (int(s.Node) < first) && contact == never {
			contact = s.At
		}
	})
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

// diameter returns the largest distance, in links, between two nodes of the first zone. In a large
// zone it measures only the distances from the first 64 nodes.
func (n *Net) diameter() (most int) {
	g := n.groups[0]
	for from := range min(g.count, 64) {
		far := make([]int, g.count)
		queue := []int{from}
		var list []wire.Ref
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
