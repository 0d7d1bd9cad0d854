package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// The table of groups is a cache with LRU replacement: when it is full, a new group displaces
// (evicts) an old one. A displaced group comes back into the table when it is used again: an
// out-of-band group from the service that maps it, a regular one from the parent, which sends the
// list again when this node answers ENOGROUP (see refused). A group is not displaced while a
// request over it is under way, while the service has a handle of it (see HoldGroup), if it was
// created here, or if its service requests that (Service.Pinned).
//
// There are three caches. A group displaces groups of its own cache, with the exceptions below:
//
//   - groups that requests of other nodes brought: MaxGroups, including those of strangers.
//     Strangers' groups are displaced first
//   - groups of strangers, see shares.go: a quarter of MaxGroups. When the first cache is
//     full, a stranger's group displaces a listed node's group only if the latter has been
//     idle for so long that no message of its broadcasts can be under way
//   - out-of-band groups that broadcasts of this node brought, and pinned ones: MaxGroups
//     more
//
// In the first two caches, a new group displaces a group of the node whose requests brought the
// largest share (max-min fairness): a node that floods this one displaces its own groups.

// class is the cache that a group is in.
type class uint8

const (
	ofOthers class = iota
	ofStrangers
	ofOurs
)

// lruState is the state of a group in the cache.
type lruState struct {
	class      class
	pinned     bool
	holds      int     // number of handles of the group that the service holds
	tick       uint64  // value of cache.tick when the group was last used
	holder     *holder // the node that brought the group
	queue      *queue  // queue of the group's class; nil: the group must stay
	prev, next *group  // neighbours in queue
}

// queue lists groups that may be displaced, the least recently used first.
type queue struct{ first, last *group }

func (q *queue) push(g *group) {
	p := &g.lru
	p.queue, p.prev, p.next = q, q.last, nil
	if q.last = g; p.prev == nil {
		q.first = g
	} else {
		p.prev.lru.next = g
	}
}

func (q *queue) remove(g *group) {
	p := &g.lru
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.lru.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.lru.prev = p.prev
	}
	p.queue, p.prev, p.next = nil, nil, nil
}

// holder is a node whose requests brought groups into the cache.
type holder struct {
	id    nid.NID
	at    int // index in cache.holders
	parts [2]part
}

// part has the groups of a class that one node brought.
type part struct {
	groups  int
	bytes   uint64
	oob     queue
	regular queue
}

// cache has the groups that were not created here.
type cache struct {
	of      map[nid.NID]*holder
	holders []*holder
	groups  [3]int // number of groups by class
	ours    queue
	tick    uint64
}

func (c *cache) init() { c.of = make(map[nid.NID]*holder) }

// others returns the number of groups that other nodes brought.
func (c *cache) others() int { return c.groups[ofOthers] + c.groups[ofStrangers] }

func (c *cache) add(g *group) {
	p := &g.lru
	if c.groups[p.class]++; p.class == ofOurs {
		return
	}
	h := c.of[g.parent]
	if h == nil {
		h = &holder{id: g.parent, at: len(c.holders)}
		c.of[g.parent], c.holders = h, append(c.holders, h)
	}
	p.holder = h
	h.parts[p.class].groups++
	h.parts[p.class].bytes += g.bytes
}

func (c *cache) remove(g *group) {
	p := &g.lru
	if c.groups[p.class]--; p.class == ofOurs {
		return
	}
	h := p.holder
	h.parts[p.class].groups--
	h.parts[p.class].bytes -= g.bytes
	p.holder = nil
	if h.parts[ofOthers].groups+h.parts[ofStrangers].groups > 0 {
		return
	}
	delete(c.of, h.id)
	last := len(c.holders) - 1
	c.holders[h.at] = c.holders[last]
	c.holders[h.at].at = h.at
	c.holders[last] = nil
	c.holders = c.holders[:last]
}

// charge adds a group that was not created here to the cache (sign 1), or removes it (sign -1).
func (t *table) charge(g *group, sign int) {
	if g.lru.queue != nil {
		g.lru.queue.remove(g)
	}
	if sign > 0 {
		g.bytes = g.size()
		t.cache.add(g)
	} else {
		t.cache.remove(g)
	}
	if g.lru.class != ofOurs {
		t.shares.charge(g.parent, g.lru.class == ofStrangers, share{groups: 1, bytes: g.bytes}, sign)
	}
}

// touch makes a group the most recently used group of its queue. A group that must not be displaced is
// removed from the queue.
func (t *table) touch(g *group) {
	p := &g.lru
	if p.queue != nil {
		p.queue.remove(g)
	}
	if g.index < 0 || g.creator || p.pinned || g.inFlight > 0 || p.holds > 0 {
		return
	}
	t.cache.tick++
	p.tick = t.cache.tick
	switch {
	case p.class == ofOurs:
		t.cache.ours.push(g)
	case g.isOOB():
		p.holder.parts[p.class].oob.push(g)
	default:
		p.holder.parts[p.class].regular.push(g)
	}
}

// size returns the bytes that the list of a group is charged with. The list of an out-of-band
// group belongs to its service and is not charged.
func (g *group) size() uint64 {
	if g.isOOB() {
		return 0
	}
	return uint64(g.members.Size())
}

// HoldGroup keeps a group that the service has a handle of, until release is called. Like Step,
// release must not run at the same time as other methods. The result is nil if this node does
// not have the group.
func (m *Machine) HoldGroup(id wire.GroupID, service wire.ServiceID) (release func()) {
	g := m.table.groups[keyOf(id, service)]
	if g == nil {
		return nil
	}
	hold := func(sign int) {
		g.lru.holds += sign
		m.table.touch(g)
	}
	hold(1)
	return func() { hold(-1) }
}

// unpin displaces the pinned groups of a service that was unregistered.
func (m *Machine) unpin(service wire.ServiceID) {
	for _, g := range slices.Clone(m.table.list) {
		if g.key.service != service || !g.lru.pinned {
			continue
		}
		g.lru.pinned = false
		if m.table.touch(g); g.lru.queue != nil {
			m.displace(g)
		}
	}
}
