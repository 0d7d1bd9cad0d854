package engine

import "ulnet/scoll/wire"

// roomForGroup makes room for one more group that another node brings. If it cannot, it returns the status that names
// the limit.
func (m *Machine) roomForGroup(g *group) wire.Status {
	size, strangers := g.size(), g.lru.class == ofStrangers
	if size > maxListSize || strangers && size > strangerBytes {
		return wire.EMAXLISTS
	}
	for c, s := &m.table.cache, &m.shares; !g.lru.pinned; {
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
			return wire.EMAXGROUPS
		default:
			return wire.EMAXLISTS
		}
	}
	return wire.OK
}

// bring charges a group to the node that sent the first request over it. An out-of-band group that a stranger brought
// is charged anew to the first listed node that uses it.
func (m *Machine) bring(g *group, r *request) {
	known, stranger := g.index >= 0, g.stranger || r.stranger
	if known && (g.lru.class != ofStrangers || stranger) {
		return
	}
	if known {
		m.table.charge(g, -1)
	}
	g.parent, g.lru.pinned = r.parent, m.isPinned(g)
	switch {
	case g.lru.pinned:
		g.lru.class = ofOurs
	case stranger:
		g.lru.class = ofStrangers
	default:
		g.lru.class = ofOthers
	}
	if known {
		m.table.charge(g, 1)
		m.table.touch(g)
	}
}

// isPinned reports whether a group's service asked for the group to stay in the cache. Regular
// groups are never pinned, because other nodes can create any number of them.
func (m *Machine) isPinned(g *group) bool {
	s := m.services[g.key.service]
	return s != nil && s.pinned && g.isOOB()
}

// roomForOurs makes room for an out-of-band group that a broadcast of this node brings. It
// never refuses, because only this node's own broadcasts use groups of this cache.
func (m *Machine) roomForOurs() {
	for c := &m.table.cache; c.groups[ofOurs] >= m.cfg.MaxGroups && c.ours.first != nil; {
		m.displace(c.ours.first)
	}
}

func (m *Machine) displace(g *group) {
	m.stats.Displaced++
	m.table.displace(g, m.now+2*m.cfg.MaxTimeout)
}

// victim returns the group that the cache evicts to make room for g, or nil. tooMany: there are too many groups;
// false: their lists take too much memory. over: strangers have used up their share, so only a stranger's group is
// evicted.
func (m *Machine) victim(g *group, tooMany, over bool) *group {
	other := ofStrangers
	if g.lru.class == ofStrangers {
		other = ofOthers
	}
	if c := m.candidatesFor(g, other, tooMany); other == ofStrangers && c.hog != nil {
		return c.hog
	} else if !over && m.isIdle(c.oldest) {
		return c.oldest
	}
	c := m.candidatesFor(g, g.lru.class, tooMany)
	switch {
	case m.isIdle(c.oldest):
		return c.oldest
	case c.own == nil || c.most >= c.wanted:
		return c.hog
	}
	return c.own
}

// isIdle reports whether a group was not used for so long that no message of its broadcasts
// can be under way. It is false for nil.
func (m *Machine) isIdle(g *group) bool { return g != nil && m.now-g.used >= 2*m.cfg.MaxTimeout }

// candidates are the groups of a class that may be displaced. oldest is the least recently used group of all.
// hog is the least recently used group of the node that has the largest share, and own that of the node that
// brought the new group.
type candidates struct {
	oldest, hog, own *group
	// most is the share of the node that has hog. wanted is that of the node that brought the new group, with
	// this group.
	most, wanted uint64
}

// candidatesFor returns the candidates. If tooMany is set, it considers all groups, and the share of a
// node is the number of its groups. If not, it considers only groups with lists, and the share is the
// number of bytes of these lists.
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
		if c.oldest == nil || first.lru.tick < c.oldest.lru.tick {
			c.oldest = first
		}
		if c.hog == nil || weight > c.most || weight == c.most && first.lru.tick < c.hog.lru.tick {
			c.hog, c.most = first, weight
		}
	}
	return c
}

// first returns the least recently used group that may be displaced.
func (p *part) first() *group {
	a, b := p.oob.first, p.regular.first
	if a == nil || b != nil && b.lru.tick < a.lru.tick {
		return b
	}
	return a
}
