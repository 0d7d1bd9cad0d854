package scoll

import (
	"errors"
	"slices"

	"ulnet/lnet/nid"
)

// arrive takes a request, or answers why not (seed 000, Broadcast Message 1-2).
func (m *Machine) arrive(from nid.NID, data []byte) {
	h, body, err := ParseRequestHeader(data)
	switch {
	case errors.Is(err, ErrShort), errors.Is(err, ErrMagic):
		m.stats.Malformed++
		return
	case err != nil:
		m.stats.Protocol++
		m.refuse(from, &h, EPROTO, 0, 0)
		return
	}
	if s := m.admissible(&h); s != OK {
		m.refuse(from, &h, s, 0, 0)
		return
	}
	r := m.requests.add()
	m.incoming++
	r.header, r.body = h, append(r.body[:0], body...)
	r.parent, r.parentBits, r.processing = from, h.ReplyBits, h.Processing
	r.limit = m.now + min(max(h.answerTimeout(1), 1), m.cfg.MaxTimeout)
	m.requests.setWake(r, r.limit)
	m.enter(r)
}

// admissible makes the checks that need no group.
func (m *Machine) admissible(h *RequestHeader) Status {
	service := m.services[h.Service]
	destroys := h.Flags&(FlagModule|FlagLast) == FlagModule|FlagLast
	switch {
	case service == nil && !destroys:
		m.stats.NoService++
		return ENOSERVICE
	case service != nil && h.Flags&FlagOOB != 0 && !service.oob:
		m.stats.NoService++
		return ENOTSUP
	case m.incoming >= m.cfg.MaxActive:
		m.stats.Busy++
		return EBUSY
	case m.table.graves[keyOf(h.Group, h.Service)]:
		m.stats.NoGroup++
		return ENOGROUP
	}
	return m.lived(h.Group.Creator, h.Group.Incarnation)
}

// lived compares the life of a node in a message with what is known. A later
// one ends the groups of the earlier ones.
func (m *Machine) lived(id nid.NID, incarnation uint64) Status {
	if !id.IsValid() || id == m.cfg.Self {
		return OK
	}
	known := m.table.lives[id]
	switch {
	case incarnation < known:
		m.stats.Rebooted++
		return EREBOOT
	case incarnation > known:
		m.table.lives[id] = incarnation
		if known != 0 {
			m.endGroups(func(g *group) bool { return g.key.id.Creator == id && g.key.id.Incarnation < incarnation })
			m.endWaits(id, EREBOOT)
		}
	}
	return OK
}

// enter finds the group of a request, by asking the service or fetching the
// list if need be.
func (m *Machine) enter(r *request) {
	h := &r.header
	g := m.table.groups[keyOf(h.Group, h.Service)]
	switch {
	case h.Flags&FlagOOB != 0:
		if g != nil && g.members.Digest() == h.Group.Digest {
			m.admit(r, g)
			return
		}
		m.ask(r)
	case g != nil:
		m.admit(r, g)
	case h.ListSize > 0:
		m.learn(r, r.body[:h.ListSize])
	case h.List.Length > maxListSize:
		m.reject(r, EMSGSIZE)
	case h.List.Length > 0:
		r.phase = listing
		m.emit(Effect{Kind: DoFetch, ID: r.id, To: r.parent, Bits: h.List.Bits, Length: h.List.Length, List: true})
	default:
		m.stats.NoGroup++
		m.reject(r, ENOGROUP)
	}
}

// ask has the service map an out-of-band group.
func (m *Machine) ask(r *request) {
	r.phase = mapping
	r.mapTries++
	m.emit(Effect{Kind: CallMap, ID: r.id, Service: r.header.Service, Group: r.header.Group})
}

// mapped is the answer. Another digest than the root's: the service is asked
// once more, then the request is not forwarded (SC-93).
func (m *Machine) mapped(r *request, in *Input) {
	switch {
	case r.phase != mapping:
		m.stats.Late++
	case in.Status != OK:
		m.reject(r, in.Status)
	case in.Members.Digest() == r.header.Group.Digest:
		key := keyOf(r.header.Group, r.header.Service)
		g := m.table.groups[key]
		if g == nil {
			g = &group{key: key, index: -1}
		}
		g.members = in.Members
		m.admit(r, g)
	case r.mapTries < 2:
		m.ask(r)
	default:
		m.stats.Stale++
		m.reject(r, ESTALE)
	}
}

// learn makes a regular group from the list of members.
func (m *Machine) learn(r *request, list []byte) {
	members, err := ParseMembership(list)
	switch {
	case err != nil:
		m.stats.Protocol++
		m.reject(r, EPROTO)
	case members.Len() > m.cfg.MaxMembers:
		m.reject(r, EMSGSIZE)
	case members.Digest() != r.header.Group.Digest:
		m.stats.Stale++
		m.reject(r, ESTALE)
	default:
		key := keyOf(r.header.Group, r.header.Service)
		g := m.table.groups[key]
		if g == nil {
			g = &group{key: key, index: -1, members: members, lifetime: m.health.lifetime(key.id.Creator)}
		}
		m.admit(r, g)
	}
}

// admit lets a request in, if it comes from our parent in its tree, and once.
func (m *Machine) admit(r *request, g *group) {
	h := &r.header
	roster := g.members
	if h.Flags&FlagSubset != 0 {
		if roster = m.liveRoster(g); roster.Digest() != h.Live {
			m.stats.Stale++
			m.reject(r, ESTALE)
			return
		}
	}
	rank := roster.Rank(m.cfg.Self)
	switch {
	case int(h.Nodes) != roster.Len():
		m.stats.Stale++
		m.reject(r, ESTALE)
		return
	case rank < 0:
		m.stats.NoGroup++
		m.reject(r, ENOGROUP)
		return
	case rank == int(h.Root):
		m.stats.Spoofed++
		m.reject(r, EPERM)
		return
	}
	l := g.spread(roster, h.Tree, int(h.Root), rank)
	root := roster.NID(int(h.Root))
	if roster.NID(l.parent) != r.parent {
		m.stats.Spoofed++
		m.reject(r, EPERM)
		return
	}
	if h.childTimeout(l.depth, h.Processing) > m.cfg.MaxTimeout {
		m.stats.Protocol++
		m.reject(r, EINVAL)
		return
	}
	known := g.rootOf(root)
	if h.RootIncarnation < known.incarnation {
		m.stats.Rebooted++
		m.reject(r, EREBOOT)
		return
	}
	if h.RootIncarnation > known.incarnation {
		*known = rootState{nid: root, incarnation: h.RootIncarnation}
	}
	if !known.seen.add(h.Sequence) {
		m.stats.Replayed++
		m.discard(r) // an answer would end the wait for the first one's
		return
	}
	m.join(r, g, roster, l)
	if !known.ran.add(h.First) {
		r.incoming = returned // an earlier attempt
	}
	m.begin(r)
}

// join makes a request one of a group.
func (m *Machine) join(r *request, g *group, roster *Membership, l *layout) {
	if g.index < 0 {
		g.tree, g.rank = r.header.Tree, g.members.Rank(m.cfg.Self)
		m.table.add(g)
	}
	g.inFlight++
	r.group, r.roster, r.rank, r.depth = g, roster, l.rank, l.depth
	r.children = slices.Grow(r.children[:0], len(l.children))
	for _, c := range l.children {
		r.children = append(r.children, child{Child: c, last: -1})
	}
	r.pending = len(r.children)
}

// begin has the service look at an admitted request (Broadcast Message 3).
func (m *Machine) begin(r *request) {
	m.stats.Requests++
	r.limit = m.now + max(r.header.answerTimeout(r.depth), 1)
	m.schedule(r)
	if r.header.Flags&FlagModule != 0 {
		m.run(r)
		return
	}
	r.phase = preparing
	m.emit(Effect{
		Kind: CallPreRequest, ID: r.id, To: r.parent, Header: &r.header, Members: r.roster,
		Data: m.lend(r.body[r.header.ListSize:]), Children: m.lendChildren(r),
	})
}

// lend copies bytes to the step's output.
func (m *Machine) lend(b []byte) Range {
	begin := len(m.out.Buf)
	m.out.Buf = append(m.out.Buf, b...)
	return Range{begin, len(m.out.Buf)}
}

func (m *Machine) lendChildren(r *request) Range {
	begin := len(m.out.Children)
	for i := range r.children {
		m.out.Children = append(m.out.Children, r.children[i].Child)
	}
	return Range{begin, len(m.out.Children)}
}

// prepared is the service's answer to pre-request. An error ends the request
// here: it is not forwarded (SC-66).
func (m *Machine) prepared(r *request, in *Input) {
	if r.phase != preparing {
		m.stats.Late++
		return
	}
	switch {
	case r.root:
		m.preparedAgain(r, in.Status)
		return
	case in.Status != OK:
		m.stats.Rejected++
		m.reject(r, in.Status)
		return
	case r.aborted:
		m.refuseFor(r, ECANCELED)
	}
	if r.answered { // the time is over: the service is told by reply-out
		if r.failed = ETIMEDOUT; r.aborted {
			r.failed = ECANCELED
		}
		r.children, r.pending = r.children[:0], 0 // they get nothing
		m.leave(r)
		return
	}
	if in.Timeout > r.processing {
		r.processing = in.Timeout
		m.stats.LongWaits++
	}
	if bulk := r.header.Bulk; bulk.Length > 0 {
		r.phase = loading
		m.emit(Effect{Kind: DoFetch, ID: r.id, To: r.parent, Bits: bulk.Bits, Length: bulk.Length})
		return
	}
	m.run(r)
}

// fetched: the list of members, or bulk data, is there, or is not.
func (m *Machine) fetched(r *request, in *Input) {
	switch {
	case r.phase == listing && in.Status != OK:
		m.reject(r, in.Status)
	case r.phase == listing:
		r.phase = mapping
		m.learn(r, in.Data)
	case r.phase != loading:
		m.stats.Late++
	case in.Status == OK && !r.answered:
		m.run(r)
	default:
		m.lost(r, in.Status)
	}
}

// lost: bulk data could not be fetched. The parent is told, the children get
// nothing, and the service hears of both (SC-A18).
func (m *Machine) lost(r *request, s Status) {
	if s == OK {
		s = ETIMEDOUT
	}
	m.refuseFor(r, s)
	r.phase, r.bulk, r.incoming = running, s, called
	for i := range r.children {
		r.children[i].state = done
		r.pending--
		r.calls++
		m.emit(Effect{Kind: CallReply, ID: r.id, Child: i, Status: s, Collective: true, Final: true})
	}
	m.emit(Effect{Kind: CallIncoming, ID: r.id, Status: s})
}
