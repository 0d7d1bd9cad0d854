package scoll

import (
	"context"
	"errors"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// lock gives the caller the exclusive right to create and destroy handles, until it calls
// unlock. If ctx ends while lock waits, it returns the cause.
func (g *groups) lock(ctx context.Context) error {
	select {
	case g.making <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *groups) unlock() { <-g.making }

// retire destroys a group whose members have changed. If broadcasts over the group are under
// way, the group is kept for a later call of retire, which destroys it, too. Members that are
// not reached drop the group when this node ends.
func (g *groups) retire(h *scoll.Group) {
	h.Destroy(func(err error) {
		if errors.Is(err, scoll.EBUSY) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.retired = append(g.retired, h)
		}
	})
}

// retireAll destroys the groups that retire could not destroy because they were busy.
func (g *groups) retireAll() {
	g.mu.Lock()
	list := g.retired
	g.retired = nil
	g.mu.Unlock()
	for _, h := range list {
		g.retire(h)
	}
}

// handle returns the handle for a key, or nil if there is none.
func (g *groups) handle(key handleKey) *scoll.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handles[key]
}

// setHandle stores a handle; if h is nil, it removes the handle.
func (g *groups) setHandle(key handleKey, h *scoll.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.handles[key] = h; h == nil {
		delete(g.handles, key)
	}
}

// handlesOf returns the handles of a group, by key.
func (g *groups) handlesOf(name string) map[handleKey]*scoll.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := map[handleKey]*scoll.Group{}
	for key, h := range g.handles { // any order: the result is a map
		if key.name == name {
			m[key] = h
		}
	}
	return m
}

// handleKey identifies a handle. For package scoll, a group with another list of members or
// another tree is another group.
type handleKey struct {
	name   string
	tree   scoll.Tree
	digest wire.Digest
}

// handle returns the handle for broadcasts over a group, and creates it if there is none.
func (c *collective) handle(ctx context.Context, g *namedGroup, members *scoll.Membership, tree scoll.Tree) (*scoll.Group, error) {
	key := handleKey{g.name, tree, members.Digest()}
	if h := c.groups.handle(key); h != nil {
		return h, nil // found without the lock, so broadcasts go on even while another call creates the handle of another group
	}
	if err := c.groups.lock(ctx); err != nil {
		return nil, err
	}
	defer c.groups.unlock()
	if h := c.groups.handle(key); h != nil {
		return h, nil
	}
	c.groups.retireAll()
	for old, h := range c.groups.handlesOf(g.name) { // any order: all of them are retired
		if old.tree == tree {
			c.groups.setHandle(old, nil)
			c.groups.retire(h)
		}
	}
	h, err := c.create(ctx, g.name, members, tree)
	if err == nil {
		c.groups.setHandle(key, h)
	}
	return h, err
}

// create creates a handle. If the list of members is long, it sends the list to all members
// first.
func (c *collective) create(ctx context.Context, name string, members *scoll.Membership, tree scoll.Tree) (*scoll.Group, error) {
	type result struct {
		g   *scoll.Group
		err error
	}
	done := make(chan result, 1)
	c.agent.CreateGroup(scoll.GroupConfig{
		Service: admin.ServiceID, Name: name, Members: members, Tree: tree, Now: members.Size() > c.groups.listSize,
		Done: func(g *scoll.Group, err error) { done <- result{g, err} },
	})
	select {
	case r := <-done:
		return r.g, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// endWait is how long a group may stay busy after the result of its last broadcast.
const endWait = time.Second

// destroy destroys a group at all members.
func (c *collective) destroy(ctx context.Context, h *scoll.Group) error {
	deadline := time.After(endWait)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		done := make(chan error, 1)
		h.Destroy(func(err error) { done <- err })
		select {
		case err := <-done:
			if !errors.Is(err, scoll.EBUSY) || c.log.running() {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-tick.C:
		case <-deadline:
			return scoll.EBUSY
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
