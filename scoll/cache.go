package scoll

import (
	"slices"

	"ulnet/lnet/nid"
)

// The table of groups is a cache with least-recently-used replacement. A group that
// made room comes back when it is used again: an out-of-band one from the service that
// maps it, a regular one from the parent, which sends the list once more when this
// node answers ENOGROUP (see refused). A group stays while a request over it is under
// way, while the service has a handle of it (see Agent.hold), if it was created here,
// and if its service says so (Service.Pinned).
//
// There are three caches, of which one takes no room from another but as it is said:
//
//   - groups that requests of others brought: MaxGroups, with the strangers' among
//     them. Strangers' groups go first
//   - strangers' groups, see shares.go: a quarter of MaxGroups. Where all places are
//     taken, a stranger's group takes that of another node's only if that one was not
//     used for so long that nothing of its broadcasts can be on its way
//   - out-of-band groups that broadcasts of this node brought, and pinned ones:
//     MaxGroups more
//
// In the first two a group goes of the node whose requests brought the most (max-min
// fairness): a node that floods this one displaces its own groups.

// class is the cache that a group is in.
type class uint8

const (
	ofOthers class = iota
	ofStrangers
	ofOurs
)

// place is a group's place in the cache.
type place struct {
	class      class
	pinned     bool
	holds      int     // handles that the service has
	tick       uint64  // when it was used last
	holder     *holder // who brought it
	queue      *queue  // nil: it must not go
	prev, next *group  // in queue
}

// queue is groups that may go, the least recently used first.
type queue struct{ first, last *group }

func (q *queue) push(g *group) {
	p := &g.place
	p.queue, p.prev, p.next = q, q.last, nil
	if q.last = g; p.prev == nil {
		q.first = g
	} else {
		p.prev.place.next = g
	}
}

func (q *queue) remove(g *group) {
	p := &g.place
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.place.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.place.prev = p.prev
	}
	p.queue, p.prev, p.next = nil, nil, nil
}

// holder is a node whose requests brought groups.
type holder struct {
	id    nid.NID
	at    int // in cache.holders
	parts [2]part
}

// part is the groups of a class that a node brought.
type part struct {
	groups  int
	bytes   uint64
	oob     queue
	regular queue
}

// cache is the groups that were not created here.
type cache struct {
	of      map[nid.NID]*holder
	holders []*holder
	groups  [3]int // by class
	ours    queue
	tick    uint64
}

func (c *cache) init() { c.of = make(map[nid.NID]*holder) }

// others is how many groups others brought.
func (c *cache) others() int { return c.groups[ofOthers] + c.groups[ofStrangers] }

func (c *cache) add(g *group) {
	p := &g.place
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
	p := &g.place
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

// charge adds a group that was not created here to the cache, or takes it out.
func (t *table) charge(g *group, sign int) {
	if g.place.queue != nil {
		g.place.queue.remove(g)
	}
	if sign > 0 {
		g.bytes = g.size()
		t.cache.add(g)
	} else {
		t.cache.remove(g)
	}
	if g.place.class != ofOurs {
		t.shares.charge(g.parent, g.place.class == ofStrangers, share{groups: 1, bytes: g.bytes}, sign)
	}
}

// touch makes a group the most recently used one, or one that must not go.
func (t *table) touch(g *group) {
	p := &g.place
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

// size is how many bytes of lists a group counts for. The list of an out-of-band group
// is its service's.
func (g *group) size() uint64 {
	if g.isOOB() {
		return 0
	}
	return uint64(g.members.Size())
}

// roomForGroup makes room for one more group of others, or says what is full.
func (m *Machine) roomForGroup(g *group) Status {
	size, strangers := g.size(), g.place.class == ofStrangers
	if size > maxListSize || strangers && size > strangerBytes {
		return EMAXLISTS
	}
	for c, s := &m.table.cache, &m.shares; !g.place.pinned; {
		most := m.cfg.MaxGroups
		over := strangers && c.groups[ofStrangers] >= max(most/4, 1)
		tooMany := over || c.others() >= most
		over = over || strangers && size > strangerBytes-s.strangers.bytes
		if !tooMany && !over && size <= maxListSize-s.bytes {
			break
		}
		victim := m.victim(g, tooMany, over)
		switch {
		case victim != nil:
			m.displace(victim)
		case tooMany:
			return EMAXGROUPS
		default:
			return EMAXLISTS
		}
	}
	return OK
}

// bring notes who a group is charged to: the node whose request is the first over it.
// An out-of-band group that a stranger brought is charged to the first other node that
// uses it.
func (m *Machine) bring(g *group, r *request) {
	known, stranger := g.index >= 0, g.stranger || r.stranger
	if known && (g.place.class != ofStrangers || stranger) {
		return
	}
	if known {
		m.table.charge(g, -1)
	}
	g.parent, g.place.pinned = r.parent, m.isPinned(g)
	switch {
	case g.place.pinned:
		g.place.class = ofOurs
	case stranger:
		g.place.class = ofStrangers
	default:
		g.place.class = ofOthers
	}
	if known {
		m.table.charge(g, 1)
		m.table.touch(g)
	}
}

// isPinned reports whether a group's service says that it stays. Others can make any
// number of regular groups of a service, so that these are not.
func (m *Machine) isPinned(g *group) bool {
	s := m.services[g.key.service]
	return s != nil && s.pinned && g.isOOB()
}

// roomForOurs makes room for an out-of-band group that a broadcast of this node brings.
// What is under way is this node's own doing, and not refused.
func (m *Machine) roomForOurs() {
	for c := &m.table.cache; c.groups[ofOurs] >= m.cfg.MaxGroups && c.ours.first != nil; {
		m.displace(c.ours.first)
	}
}

func (m *Machine) displace(g *group) {
	m.stats.Displaced++
	m.table.displace(g, m.now+2*m.cfg.MaxTimeout)
}

// victim returns the group that makes room for another one, or nil. over says that it
// is one of strangers, who have their share.
func (m *Machine) victim(g *group, tooMany, over bool) *group {
	other := ofStrangers
	if g.place.class == ofStrangers {
		other = ofOthers
	}
	if c := m.candidatesFor(g, other, tooMany); other == ofStrangers && c.hog != nil {
		return c.hog
	} else if !over && m.isIdle(c.oldest) {
		return c.oldest
	}
	c := m.candidatesFor(g, g.place.class, tooMany)
	switch {
	case m.isIdle(c.oldest):
		return c.oldest
	case c.own == nil || c.most >= c.wanted:
		return c.hog
	}
	return c.own
}

// isIdle reports whether a group was not used for so long that nothing of its
// broadcasts can be on its way. nil was not.
func (m *Machine) isIdle(g *group) bool { return g != nil && m.now-g.used >= 2*m.cfg.MaxTimeout }

// candidates are the groups of a class that may go for another one, each the least
// recently used: of all, of the node that holds the most, and of the one that brings
// the other.
type candidates struct {
	oldest, hog, own *group
	most, wanted     uint64 // that the two nodes hold, the other one included
}

// candidatesFor looks for them: with tooMany among all groups and by their number,
// otherwise among those with lists and by the bytes of these.
func (m *Machine) candidatesFor(g *group, of class, tooMany bool) (c candidates) {
	for _, h := range m.table.cache.holders {
		part := &h.parts[of]
		first, weight, more := part.regular.first, part.bytes, g.size()
		if tooMany {
			first, weight, more = part.first(), uint64(part.groups), 1
		}
		if h.id == g.parent {
			c.own, c.wanted = first, weight+more
		}
		if first == nil {
			continue
		}
		if c.oldest == nil || first.place.tick < c.oldest.place.tick {
			c.oldest = first
		}
		if c.hog == nil || weight > c.most || weight == c.most && first.place.tick < c.hog.place.tick {
			c.hog, c.most = first, weight
		}
	}
	return c
}

// first is the least recently used group that may go.
func (p *part) first() *group {
	a, b := p.oob.first, p.regular.first
	if a == nil || b != nil && b.place.tick < a.place.tick {
		return b
	}
	return a
}

// holdGroup keeps a group that the service has a handle of. releaseGroup ends that; nil: there is
// nothing to keep.
func (m *Machine) holdGroup(key groupKey) *group {
	g := m.table.groups[key]
	if g != nil {
		g.place.holds++
		m.table.touch(g)
	}
	return g
}

func (m *Machine) releaseGroup(g *group) {
	g.place.holds--
	m.table.touch(g)
}

// unpin forgets the groups of a service that is no more.
func (m *Machine) unpin(service ServiceID) {
	for _, g := range slices.Clone(m.table.list) {
		if g.key.service != service || !g.place.pinned {
			continue
		}
		g.place.pinned = false
		if m.table.touch(g); g.place.queue != nil {
			m.displace(g)
		}
	}
}
