package engine

import (
	"slices"

	"ulnet/lnet/nid"
)

// DeleteGroup deletes a group. Its nodes that may have the session leave it, unless they are in another
// group or in a batch.
type DeleteGroup struct {
	Key   uint32 // key of the session
	Group string // name of the group
}

func (d *DeleteGroup) begin(c *Console, o *operation) error {
	s, g, err := c.change(o, d.Key, d.Group)
	if err != nil {
		return err
	}
	c.leave(o, s, g, g.nodes, func() {
		s.deleteGroup(g)
		c.finish(o, nil)
	})
	return nil
}

// RemoveNodes takes nodes out of a group. Those that may have the session leave it, as in
// DeleteGroup. A group without nodes is deleted.
type RemoveNodes struct {
	Key   uint32          // key of the session
	Group string          // name of the group
	IDs   []nid.ProcessID // nodes; those that the group does not have are skipped
}

func (r *RemoveNodes) begin(c *Console, o *operation) error {
	s, g, err := c.change(o, r.Key, r.Group)
	if err != nil {
		return err
	}
	gone := make(map[*node]bool, len(r.IDs))
	for _, id := range r.IDs {
		gone[s.byID[id]] = true
	}
	c.shrink(o, s, g, slices.DeleteFunc(slices.Clone(g.nodes), func(n *node) bool { return !gone[n] }))
	return nil
}

// CleanGroup takes the nodes in some states out of a group, as RemoveNodes does.
type CleanGroup struct {
	Key    uint32  // key of the session
	Group  string  // name of the group
	States []State // nodes in one of these states leave the group
}

func (l *CleanGroup) begin(c *Console, o *operation) error {
	s, g, err := c.change(o, l.Key, l.Group)
	if err != nil {
		return err
	}
	c.shrink(o, s, g, g.in(l.States))
	return nil
}

// RefreshGroup asks the nodes of a group that are not active to join the session.
type RefreshGroup struct {
	Key   uint32 // key of the session
	Group string // name of the group
}

func (r *RefreshGroup) begin(c *Console, o *operation) error {
	_, g, err := c.change(o, r.Key, r.Group)
	if err != nil {
		return err
	}
	c.makeSession(o, g.nodes, func() { c.finish(o, nil) })
	return nil
}

// shrink takes nodes out of a group, which is deleted if none is left.
func (c *Console) shrink(o *operation, s *session, g *group, nodes []*node) {
	c.leave(o, s, g, nodes, func() {
		if len(g.nodes) == 0 {
			s.deleteGroup(g)
		}
		c.finish(o, nil)
	})
}

// leave takes nodes out of a group, and then calls the function then. Before that, nodes that may
// have the session and are in no other group or batch are asked to leave the session.
func (c *Console) leave(o *operation, s *session, g *group, nodes []*node, then func()) {
	nodes = slices.Clone(nodes)
	o.hold(nodes...)
	last := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return !n.mayHave() || n.members > 1 })
	c.remove(o, last, func() {
		s.members -= g.drop(nodes)
		then()
	})
}

func (s *session) deleteGroup(g *group) {
	s.groups = slices.DeleteFunc(s.groups, func(other *group) bool { return other == g })
}
