package scoll

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll"
)

// handle returns the handle for broadcasts over a group, and creates it if there is none. The caller
// uses it until groups.release.
func (c *collective) handle(ctx context.Context, g *namedGroup, members *scoll.Membership, tree scoll.Tree) (*handle, error) {
	key := handleKey{g.name, tree, members.Digest()}
	if h := c.groups.take(key); h != nil {
		return h, nil // found without the lock, so broadcasts go on even while another call creates the handle of another group
	}
	if err := c.groups.lock(ctx); err != nil {
		return nil, err
	}
	defer c.groups.unlock()
	if h := c.groups.take(key); h != nil {
		return h, nil
	}
	c.groups.endRest()
	c.groups.retire(g.name, tree)
	group, err := c.create(ctx, g.name, members, tree)
	if err != nil {
		return nil, err
	}
	return c.groups.add(key, group), nil
}

// create creates a group. If the list of members is long, it sends the list to all members first. If
// ctx ends meanwhile, the group is destroyed as soon as it exists.
func (c *collective) create(ctx context.Context, name string, members *scoll.Membership, tree scoll.Tree) (*scoll.Group, error) {
	type result struct {
		g   *scoll.Group
		err error
	}
	r, err := resultOf(ctx, func(done func(result)) {
		c.agent.CreateGroup(scoll.GroupConfig{
			Service: admin.ServiceID, Name: name, Members: members, Tree: tree, Now: members.Size() > c.groups.listSize,
			Done: func(g *scoll.Group, err error) { done(result{g, err}) },
		})
	}, func(late result) {
		if late.err == nil {
			c.groups.end(late.g)
		}
	})
	return r.g, cmp.Or(err, r.err)
}

// resultOf calls begin and waits for the result that begin's argument gets. If ctx ends before, it
// returns the cause, and late is called with the result when there is one.
func resultOf[T any](ctx context.Context, begin func(done func(T)), late func(T)) (r T, err error) {
	results := make(chan T, 1)
	var left atomic.Bool // resultOf no longer waits
	takeLate := func() {
		select {
		case r := <-results:
			late(r)
		default: // there is no result yet, or the other call of takeLate has taken it
		}
	}
	begin(func(r T) {
		if results <- r; left.Load() {
			takeLate()
		}
	})
	select {
	case r = <-results:
		return r, nil
	case <-ctx.Done():
		left.Store(true)
		takeLate()
		return r, context.Cause(ctx)
	}
}

// endWait is how long a group may stay busy after the result of its last broadcast.
const endWait = time.Second

// destroy destroys the group of a handle at all members. If the group stays busy, or ctx ends while
// it is, the handle remains, and gone is false. The caller holds the lock of the groups.
func (c *collective) destroy(ctx context.Context, key handleKey) (gone bool, err error) {
	deadline := time.After(endWait)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if gone, err = c.tryDestroy(ctx, key); gone || !errors.Is(err, scoll.EBUSY) || c.log.running() {
			return gone, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return false, scoll.EBUSY
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// tryDestroy is destroy without waiting for broadcasts over the group.
func (c *collective) tryDestroy(ctx context.Context, key handleKey) (gone bool, err error) {
	group := c.groups.remove(key)
	if group == nil {
		return false, scoll.EBUSY
	}
	status, err := resultOf(ctx, func(done func(error)) { group.Destroy(done) }, func(late error) { c.groups.ended(group, late) })
	switch {
	case err != nil: // ctx has ended: the group is being destroyed all the same
		return false, err
	case errors.Is(status, scoll.EBUSY):
		c.groups.restore(key, group)
		return false, status
	}
	return true, status
}
