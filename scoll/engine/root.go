package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// Plan describes a broadcast of this node before it is sent.
type Plan struct {
	Members    *wire.Membership // members of the tree: all of the group, or the live ones
	Whole      *wire.Membership // all members of the group
	Children   []tree.Child     // children of this node
	Tree       wire.Tree        // type of tree that the group has
	MaxPayload int              // longest payload of this broadcast, in bytes
	Dead       []nid.NID        // dead members because of which the broadcast is not sent
	Time       time.Duration    // timeout of the root, without processing time
}

// Plan returns the plan of a broadcast with o.Flags over a group. Errors are those errors of
// Broadcast that do not depend on the payload. It appends the children to room.
func (m *Machine) Plan(o *Outgoing, room []tree.Child) (p Plan, err error) {
	g, roster, s := m.target(o)
	if s != wire.OK && s != wire.EHOSTDOWN {
		return p, s
	}
	l := g.spread(roster, g.tree, roster.Rank(m.cfg.Self), roster.Rank(m.cfg.Self))
	p = Plan{Members: roster, Whole: g.members, Tree: g.tree, Children: append(room[:0], l.children...), MaxPayload: wire.MaxMessage - wire.RequestHeaderSize}
	h := wire.RequestHeader{RTT: m.cfg.RTT, Guard: m.cfg.Guard, BulkTime: m.cfg.bulkTime(o.Bulk)}
	p.Time = childTimeout(&h, l.depth, 0)
	if m.cfg.Signed {
		p.MaxPayload -= len(wire.Digest{}) + keyring.CodeSize
	}
	if m.mustRide(g) {
		p.MaxPayload -= g.members.Size()
	}
	if s != wire.OK {
		p.Dead = m.appendDead(nil, g)
	}
	return p, s.Err()
}

// mustRide reports whether a broadcast must carry the list of members.
func (m *Machine) mustRide(g *group) bool { return g.creator && !g.complete }

// target returns the group of a broadcast and its members, and OK or why it cannot be sent
// now. It creates an out-of-band group (SC-92).
func (m *Machine) target(o *Outgoing) (*group, *wire.Membership, wire.Status) {
	key := keyOf(o.Group, o.Service)
	g := m.table.groups[key]
	if o.Flags&wire.FlagOOB != 0 && o.Members != nil {
		if g == nil {
			g = m.table.fresh(key, o.Members)
			g.tree, g.complete, g.lru = o.Tree.OrDefault(), true, lruState{class: ofOurs, pinned: m.isPinned(g)}
			m.roomForOurs()
			m.table.add(g)
		}
		g.used = m.now
		m.table.touch(g)
		if g.members == nil || g.members.Digest() != o.Members.Digest() {
			g.members = o.Members
		}
		g.rank = g.members.Rank(m.cfg.Self)
		if o.Tree != (wire.Tree{}) {
			g.tree = o.Tree
		}
	}
	switch {
	case g == nil || g.last || m.hasEnded(g):
		return nil, nil, wire.ENOGROUP
	case m.services[o.Service] == nil && o.Flags&wire.FlagModule == 0:
		return nil, nil, wire.ENOSERVICE
	case g.rank < 0:
		return nil, nil, wire.EPERM
	case g.creating && o.Flags&wire.FlagModule == 0:
		return nil, nil, wire.EAGAIN
	case o.Flags&wire.FlagLast != 0 && g.inFlight > 0, len(g.waiting) >= maxWaiting:
		return nil, nil, wire.EBUSY
	case o.Flags&(wire.FlagLast|wire.FlagSubset) == wire.FlagLast|wire.FlagSubset && !g.isOOB():
		return nil, nil, wire.EINVAL // the group would have ended at members that have run an attempt before the next one comes
	case o.Flags&wire.FlagSubset != 0:
		return g, m.liveRoster(g), wire.OK
	case o.Flags&(wire.FlagModule|wire.FlagLast) != wire.FlagModule|wire.FlagLast && m.liveRoster(g) != g.members:
		return g, g.members, wire.EHOSTDOWN
	}
	return g, g.members, wire.OK
}

// broadcast begins a broadcast of this node, or refuses it. It sets o.Status, by which the
// caller of Step learns the result at once.
func (m *Machine) broadcast(o *Outgoing) {
	g, roster, s := m.target(o)
	if s == wire.OK && o.Flags&wire.FlagSubset != 0 && o.Planned != (wire.Digest{}) && o.Planned != roster.Digest() {
		s = wire.ESTALE
	}
	var h wire.RequestHeader
	if s == wire.OK {
		h, s = m.header(o, g, roster)
	}
	if o.Status = s; s != wire.OK {
		m.emit(Effect{Kind: Refused, Token: o.Token, Status: s})
		return
	}
	m.launch(o, g, roster, h)
}

// header builds the header of a broadcast.
func (m *Machine) header(o *Outgoing, g *group, roster *wire.Membership) (h wire.RequestHeader, s wire.Status) {
	h = wire.RequestHeader{
		RootIncarnation: m.cfg.Incarnation, Service: o.Service, Flags: o.Flags, Group: g.key.id, Tree: g.tree,
		Nodes: uint32(roster.Len()), Root: uint32(roster.Rank(m.cfg.Self)),
		RTT: m.cfg.RTT, Guard: m.cfg.Guard, BulkTime: m.cfg.bulkTime(o.Bulk), Processing: o.Processing,
		Bulk: wire.RMA{Length: o.Bulk}, PayloadSize: uint32(len(o.Payload)),
	}
	if m.cfg.Signed {
		h.Flags |= wire.FlagSigned
	}
	if o.Flags&wire.FlagModule != 0 {
		h.Processing = min(moduleTime, m.cfg.MaxTimeout/4)
	}
	if o.Flags&wire.FlagModule == 0 && o.Carry >= 0 {
		h.Carry = uint16(min(orDefault(o.Carry, wire.DefaultCarry), wire.MaxCarry))
	}
	if o.Segment > 0 && o.Bulk > 0 {
		h.Segment = max(o.Segment, wire.MinSegment)
	}
	depth := g.spread(roster, h.Tree, int(h.Root), int(h.Root)).depth
	if childTimeout(&h, depth, h.Processing) > m.cfg.MaxTimeout || !h.Fits() {
		return h, wire.EINVAL
	}
	if o.Flags&wire.FlagOOB != 0 {
		h.Group.Digest = g.members.Digest()
	}
	if o.Flags&wire.FlagSubset != 0 {
		h.Live = roster.Digest()
	}
	s = m.addList(&h, o, g)
	h.Hold = patience(&h)
	return h, s
}

// addList adds the list of members to a broadcast, if members may not know it: inside the message, or for members to
// fetch. It returns EMSGSIZE if the broadcast, or the list that it must carry, is too long for a message.
func (m *Machine) addList(h *wire.RequestHeader, o *Outgoing, g *group) wire.Status {
	room := wire.MaxMessage - wire.RequestHeaderSize - len(o.Payload) - h.ProofSize()
	creates := o.Flags&(wire.FlagModule|wire.FlagLast) == wire.FlagModule
	switch size := g.members.Size(); {
	case room < 0, o.Bulk > wire.MaxBulk:
		return wire.EMSGSIZE
	case g.complete, o.Flags&wire.FlagOOB != 0:
	case size <= room:
		h.Flags |= wire.FlagList
		h.ListSize = uint32(size)
	case creates:
		h.Flags |= wire.FlagList
		h.List.Length = uint64(size)
		h.BulkTime = m.cfg.bulkTime(h.List.Length)
	case m.mustRide(g) && o.Flags&wire.FlagModule == 0:
		return wire.EMSGSIZE // SC-20: the group can still be created with FlagModule, before a broadcast
	}
	return wire.OK
}

// launch creates the request of a broadcast.
func (m *Machine) launch(o *Outgoing, g *group, roster *wire.Membership, h wire.RequestHeader) {
	m.stats.Broadcasts++
	r := m.requests.add()
	r.root, r.token, r.header, r.processing = true, o.Token, h, h.Processing
	if h.ListSize > 0 {
		r.body = g.members.AppendTo(r.body)
	}
	r.body = append(r.body, o.Payload...)
	r.body = append(r.body, o.BulkSum[:h.SumSize()]...)
	l := g.spread(roster, h.Tree, int(h.Root), int(h.Root))
	m.join(r, g, roster, l)
	r.spawn(l)
	m.emit(Effect{Kind: Began, ID: r.id, Token: o.Token, Children: m.appendChildren(r), Members: roster})
	m.queue(r)
}

// complete updates the group of a broadcast of this node that has ended.
func (m *Machine) complete(r *request) {
	g, h := r.group, &r.header
	m.passed(r)
	whole := len(r.trailer) == 0
	if h.Flags&wire.FlagList != 0 && whole && h.Flags&wire.FlagSubset == 0 {
		g.complete = true
	}
	m.release(g, h.Flags&wire.FlagLast != 0)
	if h.Flags&wire.FlagModule == 0 {
		return
	}
	s := wire.OK
	if !whole {
		s = r.trailer[0].Status
	}
	if r.token != nil {
		m.emit(Effect{Kind: Created, Token: r.token, Status: s, Group: g.key.id, Missing: m.appendMissing(r)})
	}
	if g.creating {
		if g.creating = false; s != wire.OK {
			m.broadcast(&Outgoing{Group: g.key.id, Service: g.key.service, Flags: wire.FlagModule | wire.FlagLast}) // the creation has failed: end the group at all members (SC-A15)
		}
	}
}

// create creates a regular group: on all members at once, with FlagModule, otherwise by the
// first broadcast.
func (m *Machine) create(o *Outgoing) {
	s := wire.OK
	_, tree := o.Tree.OrDefault().Topology()
	switch {
	case m.services[o.Service] == nil:
		s = wire.ENOSERVICE
	case o.Members == nil || o.Members.Rank(m.cfg.Self) < 0 || !tree:
		s = wire.EINVAL
	case o.Members.Len() > m.cfg.MaxMembers:
		s = wire.EMAXMEMBERS
	}
	if o.Status = s; s != wire.OK {
		m.emit(Effect{Kind: Created, Token: o.Token, Status: s})
		return
	}
	m.table.next++
	id := wire.GroupID{Creator: m.cfg.Self, Incarnation: m.cfg.Incarnation, Index: m.table.next, Digest: o.Members.Digest()}
	g := &group{
		key: keyOf(id, o.Service), index: -1, members: o.Members, tree: o.Tree.OrDefault(),
		rank: o.Members.Rank(m.cfg.Self), creator: true,
	}
	m.table.add(g)
	if o.Flags&wire.FlagModule == 0 {
		o.Group = id
		m.emit(Effect{Kind: Created, Token: o.Token, Group: id})
		return
	}
	g.creating = true
	if dead := m.appendDead(nil, g); len(dead) > 0 {
		m.table.remove(g)
		m.emit(Effect{Kind: Created, Token: o.Token, Status: wire.EHOSTDOWN})
		return
	}
	first := Outgoing{Token: o.Token, Group: id, Service: o.Service, Flags: wire.FlagModule}
	if m.broadcast(&first); first.Status != wire.OK {
		m.table.remove(g)
	}
}
