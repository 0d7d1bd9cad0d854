package scoll

import (
	"context"
	"sync/atomic"

	"ulnet/lnet/nid"
)

// NewGroup creates a group of nodes, in the given order, for a service that is registered on
// all of them. This node must be one of them. Members learn of the group with the first call.
// If the list is too long for a call's message, they learn of it before NewGroup returns, and
// all of them must be alive; if ctx ends meanwhile, so does the group. [Agent.CreateGroup] has more
// options. The errors are those of CreateGroup, of NewMembership, and of ctx.
func (a *Agent) NewGroup(ctx context.Context, service ServiceID, nodes ...nid.NID) (*Group, error) {
	members, err := membershipOf(nodes...)
	if err != nil {
		return nil, err
	}
	switch {
	case members.Rank(a.self) < 0:
		return nil, wrong(EINVAL, "this node, %v, is not among the members: %v", a.self, EINVAL)
	case a.service(service) == nil:
		return nil, wrong(ENOSERVICE, "service %d is not registered on this node: Handle it first: %v", service, ENOSERVICE)
	}
	return a.newGroup(ctx, GroupConfig{Service: service, Members: members, Now: members.Size() > MaxMessage/2})
}

// newGroup creates a group and waits for it.
func (a *Agent) newGroup(ctx context.Context, cfg GroupConfig) (*Group, error) {
	c := creation{results: make(chan created, 1)}
	cfg.Done = c.done
	a.CreateGroup(cfg)
	select {
	case r := <-c.results:
		if r.err == ECANCELED { // CreateGroup was called after Close
			return nil, ErrStopped
		}
		if r.err != nil {
			return nil, r.err
		}
		return r.g, nil
	case <-ctx.Done():
		c.leave()
		return nil, ctx.Err()
	case <-a.ctx.Done():
		return nil, ErrStopped
	}
}

// creation is a group that is being created, and for which newGroup waits.
type creation struct {
	results chan created
	left    atomic.Bool // newGroup no longer waits
}

type created struct {
	g   *Group
	err error
}

func (c *creation) done(g *Group, err error) {
	if c.results <- (created{g, err}); c.left.Load() {
		c.drop()
	}
}

// leave ends the wait. If the group exists, or will exist, it is destroyed, because nothing has its handle.
func (c *creation) leave() {
	c.left.Store(true)
	c.drop()
}

// drop destroys the group, if its result has come. Of two concurrent calls, one gets the result.
func (c *creation) drop() {
	select {
	case r := <-c.results:
		if r.err == nil {
			r.g.Destroy(func(error) {}) // members that this does not reach drop the group when this node ends
		}
	default:
	}
}
