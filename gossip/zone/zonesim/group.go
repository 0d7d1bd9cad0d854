package zonesim

import (
	"fmt"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// group is a zone with the table that its machines share.
type group struct {
	name  string
	first sim.NodeID
	count int // number of nodes in the group
	nodes sim.NodeSet
	ids   []wire.ID
	refs  []wire.Ref
	local []int32 // index in ids, by Ref; -1 for a node of no index
	table *engine.Table

	// The fields below are used by a zone with a stub.
	base int // number of the first member's NID
	best int // index of the active delegate, the only member with a machine
}

func newGroup(name string, first sim.NodeID, count int) (*group, error) {
	g := &group{name: name, first: first, count: count, nodes: sim.NodeRange(first, first+sim.NodeID(count-1))}
	return g, g.fill(int(first), count)
}

// fill makes the ids of the members, with the NIDs of the nodes from a number on.
func (g *group) fill(from, members int) error {
	g.table = engine.NewTable(members + 64)
	for i := range members {
		number := sim.NodeID(from + i)
		id, err := wire.NewID(fmt.Sprintf("n%v", number), simlnd.NID(number))
		if err != nil {
			return err
		}
		r, err := g.table.Add(id)
		if err != nil {
			return err
		}
		g.ids, g.refs = append(g.ids, id), append(g.refs, r)
		for int(r) >= len(g.local) {
			g.local = append(g.local, -1)
		}
		g.local[r] = int32(i)
	}
	return nil
}

// at returns the index of a node of the group.
func (g *group) at(r wire.Ref) int {
	if int(r) >= len(g.local) {
		return -1
	}
	return int(g.local[r])
}

// has reports whether a node is of the group.
func (g *group) has(id sim.NodeID) bool { return id >= g.first && int(id-g.first) < g.count }

// ref returns the Ref of a node of the group in its table, 0 for other nodes.
func (g *group) ref(id sim.NodeID) wire.Ref {
	if !g.has(id) || g.base > 0 {
		return 0
	}
	return g.refs[id-g.first]
}

// self returns the id of a node of the group.
func (g *group) self(id sim.NodeID) wire.ID {
	if g.base > 0 {
		return g.ids[g.best]
	}
	return g.ids[id-g.first]
}

// nodeOf returns the node with an id; for a member of a zone with a stub, the node that stands
// for all members.
func (n *Net) nodeOf(id wire.ID) (sim.NodeID, bool) {
	number, ok := simlnd.Node(id.Endpoints()[0])
	if k := int(number) - n.cfg.Nodes; ok && k >= 0 && n.cfg.Stub > 0 {
		number = sim.NodeID(n.cfg.Supervisors + k/n.cfg.Stub)
	}
	return number, ok && int(number) < n.cfg.Nodes
}
