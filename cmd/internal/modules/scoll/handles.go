package scoll

import (
	"context"
	"errors"
	"time"

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

// handle is a group of package scoll, with the number of callers that use it at present. The map groups.handles
// has the handles by their keys.
type handle struct {
	group   *scoll.Group
	uses    int  // callers that have it from take or add, until they call release; guarded by groups.mu
	retired bool // it has been replaced, and is destroyed when the last use ends; guarded by groups.mu
}

// take returns the handle for a key, for the caller to use until release, or nil if there is none.
func (g *groups) take(key handleKey) *handle {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.handles[key]
	if h != nil {
		h.uses++
	}
	return h
}

// add stores a new group and returns its handle, for the caller to use until release.
func (g *groups) add(key handleKey, group *scoll.Group) *handle {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &handle{group: group, uses: 1}
	g.handles[key] = h
	return h
}

// release ends a use of a handle. If the handle was replaced meanwhile, and this was its last use,
// release destroys the group.
func (g *groups) release(h *handle) {
	g.mu.Lock()
	h.uses--
	ends := h.retired && h.uses == 0
	g.mu.Unlock()
	if ends {
		g.end(h.group)
	}
}

// retire removes the handles of a group with a tree, because its members have changed. Those that
// are in use are destroyed when their use ends: between take and the broadcast, package scoll does
// not know that the group is needed.
func (g *groups) retire(name string, tree scoll.Tree) {
	g.mu.Lock()
	var unused []*scoll.Group
	for key, h := range g.handles { // any order: all of them are removed
		if key.name != name || key.tree != tree {
			continue
		}
		delete(g.handles, key)
		if h.retired = true; h.uses == 0 {
			unused = append(unused, h.group)
		}
	}
	g.mu.Unlock()
	for _, group := range unused {
		g.end(group)
	}
}

// restAgain is how long a group that is busy waits until end is called for it again.
const restAgain = time.Second

// end destroys a group that this node no longer needs. If broadcasts over it are under way, end is called again
// later: a command has the answers of its broadcast a moment before the broadcast is over. Members that are not
// reached drop the group when this node ends.
func (g *groups) end(group *scoll.Group) {
	group.Destroy(func(err error) { g.ended(group, err) })
}

func (g *groups) ended(group *scoll.Group, err error) {
	if !errors.Is(err, scoll.EBUSY) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest = append(g.rest, group)
	if g.restTimer == nil {
		g.restTimer = time.AfterFunc(restAgain, g.endRest)
	}
}

// endRest destroys the groups that end could not destroy because they were busy.
func (g *groups) endRest() {
	g.mu.Lock()
	list := g.rest
	g.rest = nil
	if g.restTimer != nil {
		g.restTimer.Stop()
		g.restTimer = nil
	}
	g.mu.Unlock()
	for _, group := range list {
		g.end(group)
	}
}

// isKnown reports whether there is a handle for a key.
func (g *groups) isKnown(key handleKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handles[key] != nil
}

// keysOf returns the keys of the handles of a group.
func (g *groups) keysOf(name string) (keys []handleKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.handles { // any order: the caller destroys all of them
		if key.name == name {
			keys = append(keys, key)
		}
	}
	return keys
}

// remove removes the handle for a key, and returns its group. It returns nil if the handle is in use, or if
// there is none. The caller holds the lock, so that no other caller makes a handle for the key.
func (g *groups) remove(key handleKey) *scoll.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.handles[key]
	if h == nil || h.uses > 0 {
		return nil
	}
	delete(g.handles, key)
	return h.group
}

// restore stores a group again that remove has returned.
func (g *groups) restore(key handleKey, group *scoll.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handles[key] = &handle{group: group}
}

// handleKey identifies a handle. For package scoll, a group with another list of members or
// another tree is another group.
type handleKey struct {
	name   string
	tree   scoll.Tree
	digest wire.Digest
}
