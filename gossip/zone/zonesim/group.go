package zonesim

import (
	"bytes"
	"crypto/sha1"
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
	local []int32 // by Ref: index of the node in ids; -1: the node is not of this group
	table *engine.Table

	// The fields below are used by a zone with a stub.
	base int // number of the first member's NID
	best int // index of the active delegate, the only member with a machine
}

// newGroup makes a zone. If base is not 0 the zone has a stub: only its active delegate is a
// node, and the NIDs of the members count from base.
func newGroup(name string, first sim.NodeID, members, base int) (*group, error) {
	g := &group{name: name, first: first, count: members, base: base}
	if base > 0 {
		g.count = 1
	}
	g.nodes = sim.NodeRange(first, first+sim.NodeID(g.count-1))
	if err := g.fill(max(int(first), base), members); err != nil {
		return nil, err
	}
	if base > 0 {
		g.best = g.delegate()
	}
	return g, nil
}

// delegate returns the index of the first member in the zone's order of delegates (MS-A24).
func (g *group) delegate() (first int) {
	var best []byte
	for i, id := range g.ids {
		sum := sha1.Sum(append(id.AppendCanonical(nil), g.name...))
		if v := sum[:8]; best == nil || bytes.Compare(v, best) < 0 {
			best, first = bytes.Clone(v), i
		}
	}
	return first
}

// fill makes the ids of the members. Their NIDs are those of the nodes whose numbers begin at
// from.
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

// at returns the index in ids of the node that r stands for, or -1 if it is not of this group.
func (g *group) at(r wire.Ref) int {
	if int(r) >= len(g.local) {
		return -1
	}
	return int(g.local[r])
}

// has reports whether a node is of the group.
func (g *group) has(id sim.NodeID) bool { return id >= g.first && int(id-g.first) < g.count }

// ref returns the key (Ref) of a node of this group in the group's table, and 0 for a node of
// another group.
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
