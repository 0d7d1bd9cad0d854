package engine

import (
	"errors"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// arrive accepts a request, or refuses it with a reason (SC-63, SC-64).
func (m *Machine) arrive(in *Input) {
	from, data := in.From, in.Data
	switch wire.MagicOf(data) {
	case wire.IdentityMagic:
		m.identity(in)
		return
	case wire.ProgressMagic:
		m.progress(in)
		return
	case wire.HoldMagic:
		m.heardOfHolding(in)
		return
	}
	h, body, err := wire.ParseRequestHeader(data)
	switch {
	case errors.Is(err, wire.ErrShort), errors.Is(err, wire.ErrMagic):
		m.stats.Malformed++
		return
	case m.cfg.Signed != in.Signed, err == nil && (h.Flags&wire.FlagSigned != 0) != in.Signed:
		m.stats.Unsigned++
		m.refuse(from, &h, wire.EKEY, 0, 0)
		return
	case in.Cut:
		m.stats.Protocol++
		m.refuse(from, &h, wire.EMSGSIZE, 0, 0)
		return
	case err != nil:
		m.stats.Protocol++
		m.refuse(from, &h, wire.EPROTO, 0, 0)
		return
	}
	if s := m.admissible(from, &h, in.Wall); s != wire.OK {
		m.refuse(from, &h, s, 0, 0)
		return
	}
	r := m.requests.add()
	m.incoming++
	r.header, r.body = h, append(r.body[:0], body[:int(h.ListSize)+int(h.PayloadSize)+h.SumSize()]...)
	r.parent, r.parentBits, r.processing = from, h.ReplyBits, h.Processing
	r.stranger = m.isStranger(from)
	r.came, r.waits = m.now, share{waiting: 1, body: uint64(len(r.body))}
	m.shares.charge(from, r.stranger, r.waits, 1)
	r.limit = m.now + min(max(answerTimeout(&h, 1), 1), m.cfg.MaxTimeout)
	m.requests.setWake(r, r.limit)
	m.enter(r)
}

// mayHear reports whether a message other than a request may be processed: it was parsed, its
// flag tells correctly whether it is signed, and it is signed if this node requires that.
func (m *Machine) mayHear(in *Input, err error, signed bool) bool {
	switch {
	case err != nil:
		m.stats.Malformed++
	case signed != in.Signed, m.cfg.Signed != in.Signed:
		m.stats.Unsigned++
	default:
		return true
	}
	return false
}

// admissible makes the checks for which the group need not be known, and returns OK or why the
// request is refused.
func (m *Machine) admissible(from nid.NID, h *wire.RequestHeader, wall uint64) wire.Status {
	service := m.services[h.Service]
	switch {
	case m.ahead(from, h, wall):
		return wire.EAHEAD
	case service == nil && !destroys(h):
		m.stats.NoService++
		return wire.ENOSERVICE
	case service != nil && h.Flags&wire.FlagOOB != 0 && !service.oob:
		m.stats.NoService++
		return wire.ENOTSUP
	case !m.mayEnter(from, int(h.ListSize)+int(h.PayloadSize)+h.SumSize()):
		m.stats.Busy++
		return wire.EMAXACTIVE
	case m.table.tombstones.has(keyOf(h.Group, h.Service)):
		m.stats.NoGroup++
		return wire.ENOGROUP
	}
	if m.isPast(h.Group.Creator, h.Group.Incarnation) {
		m.stats.Rebooted++
		return wire.EREBOOT
	}
	return wire.OK
}

// ahead reports whether a request has an incarnation so far above the wall clock that no node
// with a correct clock can have it. In the id of an out-of-band group Incarnation has another
// meaning, and is not checked.
func (m *Machine) ahead(from nid.NID, h *wire.RequestHeader, wall uint64) bool {
	highest := h.RootIncarnation
	if h.Flags&wire.FlagOOB == 0 {
		highest = max(highest, h.Group.Incarnation)
	}
	if !m.isAhead(highest, wall) {
		return false
	}
	m.stats.Ahead++
	m.emit(Effect{Kind: WarnAhead, To: from, Bits: highest})
	return true
}

// enter finds the group of a request. It asks the service for the members of an out-of-band
// group, and fetches a list of members that the request does not contain.
func (m *Machine) enter(r *request) {
	h := &r.header
	g := m.table.groups[keyOf(h.Group, h.Service)]
	switch {
	case h.Flags&wire.FlagOOB != 0:
		if g != nil && g.members.Digest() == h.Group.Digest {
			m.admit(r, g)
			return
		}
		m.ask(r)
	case g != nil && !m.hasEnded(g):
		m.admit(r, g)
	case g != nil, h.Group.Creator == m.cfg.Self: // this node has no such group: one that it had created would be in the table
		m.stats.NoGroup++
		m.reject(r, wire.ENOGROUP)
	case h.ListSize > 0:
		m.learn(r, r.body[:h.ListSize])
	case m.isKnownList(h):
		m.admit(r, m.fresh(h, m.table.lists.of(h.Group.Digest)))
	case h.List.Length > maxListSize:
		m.reject(r, wire.EMSGSIZE)
	case h.List.Length > 0 && !m.mayFetch(r.parent, h.List.Length):
		m.stats.Busy++
		m.reject(r, wire.EMAXLISTS)
	case h.List.Length > 0 && m.listsFull(r.parent):
		m.stats.Busy++
		m.reject(r, wire.EMAXACTIVE)
	case h.List.Length > 0:
		r.phase, r.fetches, r.list = listing, true, h.List.Length
		m.lists += r.list
		m.shares.charge(r.parent, r.stranger, share{fetch: r.list}, 1)
		m.emit(Effect{Kind: DoFetch, ID: r.id, To: r.parent, Bits: h.List.Bits, Length: h.List.Length, Limit: h.List.Length, Chunk: m.cfg.MaxPayload, List: true})
	default:
		m.stats.NoGroup++
		m.reject(r, wire.ENOGROUP)
	}
}

// ask calls the service's callback that maps an out-of-band group to its members.
func (m *Machine) ask(r *request) {
	r.phase = mapping
	r.mapTries++
	m.emit(Effect{Kind: CallMap, ID: r.id, Service: r.header.Service, Group: r.header.Group})
}

// mapped handles the members that the service returned for an out-of-band group. If their
// digest differs from the root's, the machine asks the service once more, and then refuses the
// request (SC-93).
func (m *Machine) mapped(r *request, in *Input) {
	switch {
	case r.phase != mapping:
		m.stats.Late++
	case in.Status != wire.OK:
		m.reject(r, in.Status)
	case in.Members.Digest() == r.header.Group.Digest:
		key := keyOf(r.header.Group, r.header.Service)
		g := m.table.groups[key]
		if g == nil {
			g = m.table.fresh(key, nil)
		}
		g.members = in.Members
		m.admit(r, g)
	case r.mapTries < 2:
		m.ask(r)
	default:
		m.stats.Stale++
		m.reject(r, wire.ESTALE)
	}
}

// listsFull reports whether no further list of members may be fetched from a peer, because as many
// of its requests as the limit allows wait for such a fetch. Without this limit, a peer that never
// answers the GETs could occupy the node with requests that no service has seen yet.
func (m *Machine) listsFull(from nid.NID) bool {
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

// unlist releases the memory that was reserved for a fetched list of members.
func (m *Machine) unlist(r *request) {
	m.lists -= r.list
	m.shares.charge(r.parent, r.stranger, share{fetch: r.list}, -1)
	r.list = 0
}

// learn creates a regular group from the list of members.
func (m *Machine) learn(r *request, list []byte) {
	members, err := m.parse(list)
	switch {
	case err != nil, members.Rank(r.header.Group.Creator) < 0:
		m.stats.Protocol++
		m.reject(r, wire.EPROTO)
	case members.Len() > m.cfg.MaxMembers:
		m.reject(r, wire.EMAXMEMBERS)
	case members.Digest() != r.header.Group.Digest:
		m.stats.Stale++
		m.reject(r, wire.ESTALE)
	default:
		if known := m.table.lists.of(members.Digest()); known != nil {
			members = known
		}
		switch g := m.table.groups[keyOf(r.header.Group, r.header.Service)]; {
		case g == nil:
			m.admit(r, m.fresh(&r.header, members))
		case m.hasEnded(g):
			m.stats.NoGroup++
			m.reject(r, wire.ENOGROUP)
		default:
			m.admit(r, g)
		}
	}
}

// fresh returns the regular group of a request, not yet added to the table.
func (m *Machine) fresh(h *wire.RequestHeader, members *wire.Membership) *group {
	g := m.table.fresh(keyOf(h.Group, h.Service), members)
	g.stranger = m.hasStranger(members)
	return g
}

// isKnownList reports whether another group has the list of members that a request needs.
func (m *Machine) isKnownList(h *wire.RequestHeader) bool {
	members := m.table.lists.of(h.Group.Digest)
	return members != nil && members.Rank(h.Group.Creator) >= 0 && (h.List.Length == 0 || h.List.Length == uint64(members.Size()))
}
