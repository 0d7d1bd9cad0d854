package engine

import (
	"slices"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// Messages name their senders, and any node can name another one. What a member says of itself or of
// its links counts only if the message comes from a NID of that member's node.

// spoke reports whether node p itself sent the message that is being processed. The message must name p as its
// sender, and one of these must hold: it came from a NID of p's id; the primary NID of its node is a NID of p's
// id; or this primary NID is that of a node that has sent from a NID of p's id before. In a simulation, in which
// messages have no NID, the name is enough.
func (m *Machine) spoke(p wire.Ref) bool {
	if p == 0 || m.in.From != p {
		return false
	}
	return m.comesFrom(m.cfg.Table.ID(p), m.links.primaries[p])
}

// comesFrom reports whether the message that is being processed came from a NID of an id, from a node whose primary
// NID is one of these, or from the node with the primary NID that the id's node is known to have.
func (m *Machine) comesFrom(id wire.ID, primary nid.NID) bool {
	if !m.peer.IsValid() {
		return true
	}
	endpoints := id.Endpoints()
	return slices.Contains(endpoints, m.peer) || m.primary.IsValid() && (m.primary == primary || slices.Contains(endpoints, m.primary))
}

// genuine reports whether to believe that a message comes from the peer of a link. Messages that end or
// change links must come from a NID of the peer, because a node that sent them in the names of others could
// cut all links of a member. But as long as no message has come from such a NID, a message from any NID is
// believed: the NIDs of an id are configured, and the node may send from none of them.
func (m *Machine) genuine(l *link) bool {
	about := m.in.Kind >= wire.LinkRequest && m.in.Kind <= wire.LinkDrop
	if l.proven && !about && (!m.learns() || m.links.primaries[l.node] == m.primary) {
		return true
	}
	spoke := m.spoke(l.node)
	l.proven = l.proven || spoke
	if spoke && m.learns() {
		if m.links.primaries == nil {
			m.links.primaries = make(map[wire.Ref]nid.NID)
		}
		m.links.primaries[l.node] = m.primary
	}
	return spoke || !l.proven || !about
}

// learns reports whether the message tells the primary NID of its sender's node. If discovery has not confirmed
// that NID, the message has the NID that it came from instead.
func (m *Machine) learns() bool { return m.primary.IsValid() && m.primary != m.peer }
