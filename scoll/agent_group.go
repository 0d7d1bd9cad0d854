package scoll

import (
	"runtime"

	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// Group is a handle of a group, regular or out-of-band.
type Group struct {
	agent   *Agent
	service ServiceID
	id      GroupID
	tree    Tree
	name    string
	private any
	oob     bool
	segment uint32
	done    func(*Group, error)
	members *Membership // members of the group, while it is created
}

// Name returns the name that the creator of the handle gave.
func (g *Group) Name() string { return g.name }

// Private returns the value that the creator of the handle gave.
func (g *Group) Private() any { return g.private }

// ID names the group on all its members.
func (g *Group) ID() GroupID { return g.id }

// Service returns the service of the group.
func (g *Group) Service() ServiceID { return g.service }

// SetSegment makes requests over this handle pipeline their bulk data: members forward it in segments while the rest
// is still coming. bytes is the length of a segment, at least [MinSegment]. With 0, the default, members forward the
// data when they have all of it. The root decides for all members. SetSegment must not be called at the same time as
// NewRequest.
func (g *Group) SetSegment(bytes int) { g.segment = uint32(min(max(bytes, 0), 1<<30)) }

// GroupConfig configures a group to be created.
type GroupConfig struct {
	Service ServiceID // the service that runs requests over the group; must be registered on all members
	Name    string    // name of the handle, for the program
	Private any       // any value, for the program
	// Members are the nodes of the group in their order, which include this node.
	Members *Membership
	Tree    Tree // type of tree of the group's broadcasts
	// Now tells all members of the group before Done is called. Otherwise the first broadcast
	// carries the list of members, which must fit the message beside the payload.
	Now bool
	// Done is called once with the result of CreateGroup. If its error is nil, the group can be
	// used. If Now is false, the call comes before CreateGroup returns. Required.
	Done func(*Group, error)
}

// CreateGroup creates a regular group. Done gets the error:
//
//	ENOSERVICE  the service is not registered here
//	EINVAL      this node is not a member, or there is no such tree
//	EMSGSIZE    too many members
//	EHOSTDOWN   with Now: a member is dead
//	ECANCELED   the agent was closed
//	and others  with Now: an *Error whose Unreached lists members with their statuses
func (a *Agent) CreateGroup(cfg GroupConfig) {
	g := &Group{
		agent: a, service: cfg.Service, tree: cfg.Tree, name: cfg.Name, private: cfg.Private, done: cfg.Done,
		members: cfg.Members,
	}
	o := engine.Outgoing{Service: cfg.Service, Members: cfg.Members, Tree: cfg.Tree}
	o.Status = ECANCELED // the machine sets another status, unless the agent has stopped
	if !cfg.Now {        // the result is set when tell returns, whichever goroutine applies the effects
		a.tell(engine.Input{Kind: engine.Create, Broadcast: &o})
		g.id = o.Group
		g.done(g, o.Status.Err())
		return
	}
	o.Token, o.Flags = g, wire.FlagModule
	if cfg.Members != nil {
		var dead []nid.NID
		a.runner.Inspect(func() { dead = a.m.NotAlive(cfg.Members) })
		a.ask(dead)
	}
	if a.tell(engine.Input{Kind: engine.Create, Broadcast: &o}); o.Status == ECANCELED {
		g.done(nil, ECANCELED)
	}
}

// OOBGroup returns a handle of an out-of-band group; nothing is sent. An unused group takes no
// memory besides the handle: its state is in a cache of Config.MaxGroups groups, and comes
// back with the next request. ENOTSUP: the service does not map such groups; ENOSERVICE: it
// is not registered here.
func (a *Agent) OOBGroup(service ServiceID, name string, id OOBID, t Tree, private any) (*Group, error) {
	s := a.service(service)
	switch {
	case s == nil:
		return nil, ENOSERVICE
	case s.MapGroup == nil:
		return nil, ENOTSUP
	}
	return &Group{agent: a, service: service, id: id.group(), tree: t, name: name, private: private, oob: true}, nil
}

// Destroy ends a group on all members. done is called once. Its error is the status of the
// first member that was not reached, if any. EBUSY: broadcasts over the group are under way;
// ECANCELED: the agent was closed.
func (g *Group) Destroy(done func(error)) {
	pending := *g
	pending.done = func(_ *Group, err error) { done(err) }
	o := g.outgoing(wire.FlagModule | wire.FlagLast)
	o.Token = &pending
	if g.oob {
		done(ENOTSUP) // only its service ends an out-of-band group
		return
	}
	o.Status = ECANCELED // the machine sets another status, unless the agent has stopped
	if g.agent.tell(engine.Input{Kind: engine.Broadcast, Broadcast: &o}); o.Status == ECANCELED {
		done(ECANCELED)
	}
}

// hold keeps the group of a handle in the table until the handle is garbage collected, because
// services do not close handles. So a group stays somewhat longer than necessary.
func (a *Agent) hold(h *Group) {
	var release func()
	a.runner.Inspect(func() { release = a.m.HoldGroup(h.id, h.service) })
	if release != nil {
		runtime.AddCleanup(h, a.runner.Inspect, release)
	}
}

func (g *Group) outgoing(flags wire.Flags) engine.Outgoing {
	if g.oob {
		flags |= wire.FlagOOB
	}
	return engine.Outgoing{Group: g.id, Service: g.service, Tree: g.tree, Flags: flags}
}

// whyNot returns why a group was not created, or nil.
func (g *Group) whyNot(e *engine.Effect, out *engine.Output) error {
	missing := out.Missing[e.Missing.Begin:e.Missing.End]
	if e.Status == OK || g.members == nil || len(missing) == 0 {
		return e.Status.Err()
	}
	list := make([]Unreached, len(missing))
	for i, m := range missing {
		list[i] = Unreached{g.members.NID(int(m.Rank)), m.Status}
	}
	failed := wrong(list[0].Status, "%d members were not reached: %v: %v", len(list), list[0].NID, list[0].Status)
	failed.Unreached = list
	return failed
}
