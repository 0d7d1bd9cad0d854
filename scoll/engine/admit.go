package engine

import (
	"slices"

	"ulnet/scoll/wire"
)

// admit accepts a request that is no duplicate and was sent by this node's parent in the
// request's tree.
func (m *Machine) admit(r *request, g *group) {
	roster, l, s := m.locate(r, g)
	if s != wire.OK {
		m.reject(r, s)
		return
	}
	h := &r.header
	m.bring(g, r)
	if m.isPast(roster.NID(int(h.Root)), h.RootIncarnation) {
		m.stats.Rebooted++
		m.reject(r, wire.EREBOOT)
		return
	}
	root := g.rootOf(r, roster, m.now)
	fresh, full := g.index < 0 || root.seen.top == 0, wire.OK
	switch {
	case !root.seen.add(h.Sequence):
		m.stats.Replayed++
		m.discard(r) // an answer would end the parent's wait for the answer to the first copy
		return
	case m.isUndecided(g, roster, r):
		m.stats.Stale++
		m.reject(r, wire.ESTALE)
		return
	case g.index < 0:
		full = m.roomForGroup(g)
	}
	if full != wire.OK {
		m.stats.Busy++
		m.reject(r, full)
		return
	}
	m.heardOfIncarnation(r, h.Group.Creator, h.Group.Incarnation, fresh)
	m.heardOfIncarnation(r, roster.NID(int(h.Root)), h.RootIncarnation, fresh)
	m.join(r, g, roster, l)
	m.expect(r)
	if !m.mayTake(r) {
		m.hold(r)
		return
	}
	m.grantSlot(r)
}

// locate finds this node's position in the tree of a request, or returns why the request is
// refused.
func (m *Machine) locate(r *request, g *group) (*wire.Membership, *layout, wire.Status) {
	h, roster := &r.header, g.members
	if roster.Rank(m.cfg.Self) < 0 {
		m.stats.NoGroup++
		return nil, nil, wire.ENOGROUP
	}
	if h.Flags&wire.FlagSubset != 0 {
		if roster = m.liveRoster(g); roster.Digest() != h.Live {
			m.stats.Stale++
			return nil, nil, wire.ESTALE
		}
	}
	rank := roster.Rank(m.cfg.Self)
	switch {
	case int(h.Nodes) != roster.Len():
		m.stats.Stale++
		return nil, nil, wire.ESTALE
	case rank == int(h.Root):
		m.stats.Spoofed++
		return nil, nil, wire.EPERM
	}
	l := g.spread(roster, h.Tree, int(h.Root), rank)
	switch {
	case roster.NID(l.parent) != r.parent:
		m.stats.Spoofed++
		return nil, nil, wire.EPERM
	case len(l.children) > m.cfg.MaxChildren, childTimeout(h, l.depth, h.Processing) > m.cfg.MaxTimeout:
		m.stats.Protocol++
		return nil, nil, wire.EINVAL
	}
	return roster, l, wire.OK
}

// join adds a request to a group.
func (m *Machine) join(r *request, g *group, roster *wire.Membership, l *layout) {
	if g.index < 0 {
		g.tree, g.rank = r.header.Tree, g.members.Rank(m.cfg.Self)
		m.table.add(g)
	}
	g.inFlight++
	g.used = m.now
	m.table.touch(g)
	r.group, r.roster, r.rank, r.depth = g, roster, l.rank, l.depth
}

// spawn sets the children of a request.
func (r *request) spawn(l *layout) {
	r.children = slices.Grow(r.children[:0], len(l.children))
	for _, c := range l.children {
		r.children = append(r.children, child{Child: c, last: -1})
	}
	r.pending = len(r.children)
}

// begin calls the service's pre-request callback for an admitted request (Broadcast Message 3).
func (m *Machine) begin(r *request) {
	m.stats.Requests++
	r.limit = m.limitFromNow(r)
	m.schedule(r)
	if r.header.Flags&wire.FlagModule != 0 {
		m.run(r)
		return
	}
	r.phase = preparing
	m.emit(Effect{
		Kind: CallPreRequest, ID: r.id, To: r.parent, Header: &r.header, Members: r.roster, Whole: r.group.members, Again: r.repeated,
		Data: m.appendBytes(r.payload()), Children: m.appendChildren(r),
	})
}
