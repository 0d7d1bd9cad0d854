package scoll

import (
	"context"
	"errors"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// lock has handles made or ended by nobody else until unlock, or says why ctx has
// ended.
func (g *groups) lock(ctx context.Context) error {
	select {
	case g.making <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *groups) unlock() { <-g.making }

// retire ends a group whose members have changed: at once, or with the next one
// if broadcasts over it are under way. Who is not reached forgets it with this
// node.
func (g *groups) retire(h *scoll.Group) {
	h.Destroy(func(err error) {
		if errors.Is(err, scoll.EBUSY) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.retired = append(g.retired, h)
		}
	})
}

// retireAll ends the groups that were busy.
func (g *groups) retireAll() {
	g.mu.Lock()
	list := g.retired
	g.retired = nil
	g.mu.Unlock()
	for _, h := range list {
		g.retire(h)
	}
}

// handle returns a handle, nil if there is none.
func (g *groups) handle(key handleKey) *scoll.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handles[key]
}

// setHandle keeps a handle, or with nil forgets it.
func (g *groups) setHandle(key handleKey, h *scoll.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.handles[key] = h; h == nil {
		delete(g.handles, key)
	}
}

// handlesOf returns the handles of a group, by what they are for.
func (g *groups) handlesOf(name string) map[handleKey]*scoll.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := map[handleKey]*scoll.Group{}
	for key, h := range g.handles { // any order: into a map
		if key.name == name {
			m[key] = h
		}
	}
	return m
}

// handleKey says what a handle is for: another list or another tree is another
// group to collectives.
type handleKey struct {
	name   string
	tree   scoll.Tree
	digest wire.Digest
}

// handle returns what broadcasts over a group need, and makes it if need be.
func (c *collective) handle(ctx context.Context, g *namedGroup, members *scoll.Membership, tree scoll.Tree) (*scoll.Group, error) {
	key := handleKey{g.name, tree, members.Digest()}
	if h := c.groups.handle(key); h != nil {
		return h, nil // also while another group is being made
	}
	if err := c.groups.lock(ctx); err != nil {
		return nil, err
	}
	defer c.groups.unlock()
	if h := c.groups.handle(key); h != nil {
		return h, nil
	}
	c.groups.retireAll()
	for old, h := range c.groups.handlesOf(g.name) { // any order: all of them go
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

// create makes a group known to the module, and, if the list is long, to all
// members at once.
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

// endWait is how long the module may take to note that a broadcast is over after
// it has told so.
const endWait = time.Second

// destroy has all members forget a group.
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
