package engine

import (
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// group is a named set of nodes in an order.
type group struct {
	set
	name  string
	tests int // number of tests whose clients or servers are this group
	uses  int // number of operations that use the group
}

// Group describes a group.
type Group struct {
	Name   string `json:"name"`   // name of the group
	Nodes  []Node `json:"nodes"`  // nodes of the group, in the order in which they were added
	Counts Counts `json:"counts"` // number of nodes by state
}

func (s *session) group(name string) (*group, error) {
	if i := slices.IndexFunc(s.groups, func(g *group) bool { return g.name == name }); i >= 0 {
		return s.groups[i], nil
	}
	return nil, fail(syscall.ENOENT, "list the groups that there are (lst list_group)", "there is no group %s", name)
}

// change returns a group to a command that changes it. It refuses a group that a test or another
// command uses.
func (c *Console) change(o *operation, key uint32, name string) (*session, *group, error) {
	s, err := c.current(key)
	if err != nil {
		return nil, nil, err
	}
	g, err := s.group(name)
	switch {
	case err != nil:
		return nil, nil, err
	case g.tests > 0:
		return nil, nil, fail(syscall.EBUSY, "end the session to be rid of the tests", "group %s is part of %d tests", name, g.tests)
	case g.uses > 0:
		return nil, nil, fail(syscall.EBUSY, "try again when it has ended", "group %s is used by another command", name)
	}
	o.use(g)
	return s, g, nil
}

// AddGroup makes a group and adds nodes to it, see AddNodes. The group stays if no node can be
// added.
type AddGroup struct {
	Key  uint32          // key of the session
	Name string          // name of the group, 1 to 31 bytes
	IDs  []nid.ProcessID // nodes; none: the group stays empty
}

func (a *AddGroup) begin(c *Console, o *operation) error {
	s, err := c.current(a.Key)
	if err != nil {
		return err
	}
	if err := checkName("group", a.Name); err != nil {
		return err
	}
	if _, err := s.group(a.Name); err == nil {
		return fail(syscall.EEXIST, "use another name, or add nodes to it", "group %s exists already", a.Name)
	}
	if err := checkIDs(a.IDs); err != nil {
		return err
	}
	if len(s.groups) >= c.cfg.MaxGroups {
		return errFull("groups", c.cfg.MaxGroups)
	}
	g := &group{name: a.Name}
	if err := c.fits(g, a.IDs); err != nil {
		return err
	}
	s.groups = append(s.groups, g)
	o.use(g)
	return c.addNodes(o, g, a.IDs)
}

// AddNodes adds nodes to a group. Nodes that are not active are asked to join the session; they
// are in the group whatever they answer.
type AddNodes struct {
	Key   uint32          // key of the session
	Group string          // name of the group
	IDs   []nid.ProcessID // nodes; those that the group has already are skipped
}

func (a *AddNodes) begin(c *Console, o *operation) error {
	_, g, err := c.change(o, a.Key, a.Group)
	if err == nil {
		err = checkIDs(a.IDs)
	}
	if err != nil {
		return err
	}
	return c.addNodes(o, g, a.IDs)
}

func (c *Console) addNodes(o *operation, g *group, ids []nid.ProcessID) error {
	s := c.session
	if err := c.fits(g, ids); err != nil {
		return err
	}
	added := make([]*node, 0, len(ids))
	for _, id := range ids {
		if n := s.node(id, c.now); g.add(n) {
			s.members++
			added = append(added, n)
		}
	}
	c.makeSession(o, added, func() { c.finish(o, nil) })
	return nil
}

// fits refuses nodes for which a group, or the session, has no place.
func (c *Console) fits(g *group, ids []nid.ProcessID) error {
	s := c.session
	seen := make(map[nid.ProcessID]bool, len(ids))
	fresh, members := 0, 0
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		switch n := s.byID[id]; {
		case n == nil:
			fresh++
			members++
		case !g.has[n]:
			members++
		}
	}
	switch {
	case len(s.nodes)+fresh > c.cfg.MaxNodes:
		return errFull("nodes", c.cfg.MaxNodes)
	case s.members+members > c.cfg.MaxMembers:
		return errFull("members of groups", c.cfg.MaxMembers)
	}
	return nil
}

func errFull(what string, most int) error {
	return fail(syscall.ENOSPC, "end the session and make a smaller one", "a session has %d %s at most", most, what)
}

// Groups returns the groups in the order in which they were made. ESRCH: there is no session.
func (c *Console) Groups() ([]Group, error) {
	s, err := c.existing()
	if err != nil {
		return nil, err
	}
	list := make([]Group, len(s.groups))
	for i, g := range s.groups {
		list[i] = g.describe()
	}
	return list, nil
}

// Group returns a group. ENOENT: there is none of this name.
func (c *Console) Group(name string) (Group, error) {
	s, err := c.existing()
	if err != nil {
		return Group{}, err
	}
	g, err := s.group(name)
	if err != nil {
		return Group{}, err
	}
	return g.describe(), nil
}

func (g *group) describe() Group {
	return Group{Name: g.name, Nodes: listOf(g.nodes), Counts: countsOf(g.nodes)}
}
