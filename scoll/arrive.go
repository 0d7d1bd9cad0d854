package scoll

import (
	"errors"

	"ulnet/lnet/nid"
)

// arrive takes a request, or answers why not (seed 000, Broadcast Message 1-2).
func (m *Machine) arrive(from nid.NID, data []byte, cut bool) {
	h, body, err := ParseRequestHeader(data)
	switch {
	case errors.Is(err, ErrMagic) && len(data) == ProgressSize:
		m.progress(from, data)
		return
	case errors.Is(err, ErrShort), errors.Is(err, ErrMagic):
		m.stats.Malformed++
		return
	case cut:
		m.stats.Protocol++
		m.refuse(from, &h, EMSGSIZE, 0, 0)
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
	if h.Group.Incarnation < m.table.lives[h.Group.Creator] {
		m.stats.Rebooted++
		return EREBOOT
	}
	return OK
}

// lived takes note of the life of a group's creator, once a request over the
// group is admitted. A later one ends the groups of the earlier ones.
func (m *Machine) lived(id nid.NID, incarnation uint64) {
	known, ok := m.table.lives[id]
	if !id.IsValid() || id == m.cfg.Self || incarnation <= known || !ok && len(m.table.lives) == maxLives {
		return
	}
	m.table.lives[id] = incarnation
	if known != 0 {
		m.endGroups(func(g *group) bool { return g.key.id.Creator == id && g.key.id.Incarnation < incarnation })
		m.endWaits(id, EREBOOT)
	}
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
	case h.List.Length > maxListSize-m.lists, h.List.Length > 0 && m.isListed(r.parent):
		m.stats.Busy++
		m.reject(r, EBUSY)
	case h.List.Length > 0:
		r.phase, r.fetches, r.list = listing, true, h.List.Length
		m.lists += r.list
		m.emit(Effect{Kind: DoFetch, ID: r.id, To: r.parent, Bits: h.List.Bits, Length: h.List.Length, Limit: h.List.Length, Chunk: m.cfg.MaxPayload, List: true})
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

// isListed reports whether a peer has as many requests here as one may whose lists
// are being fetched from it. Nothing else keeps a stranger who does not let his be
// fetched from holding all places, with what the service has not seen yet.
func (m *Machine) isListed(from nid.NID) bool {
	count := 0
	if m.lists > 0 {
		for _, r := range m.requests.slots {
			if r.phase == listing && r.parent == from {
				count++
			}
		}
	}
	return count >= max(m.cfg.MaxActive/4, 1)
}

// unlist takes note that the memory of a list of members is free.
func (m *Machine) unlist(r *request) {
	m.lists -= r.list
	r.list = 0
}

// learn makes a regular group from the list of members.
func (m *Machine) learn(r *request, list []byte) {
	members, err := m.parse(list)
	switch {
	case err != nil, members.Rank(r.header.Group.Creator) < 0:
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
			g = &group{key: key, index: -1, members: members}
		}
		m.admit(r, g)
	}
}
