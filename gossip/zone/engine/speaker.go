package engine

import (
	"slices"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// Messages between zones name their senders, too, and any node can name another one. They are believed as messages
// about links are: see genuine.

// speaker is what this node knows of the NIDs from which a node of another zone sends.
type speaker struct {
	proven  bool    // a message has come from a NID of the node's id
	primary nid.NID // primary NID of the node, if discovery had confirmed it when such a message came
}

// believes reports whether to believe that the dispatch that is being processed comes from the node with an id, and
// records what the dispatch shows of that node. Once one has come from a NID of the id, all others must come from
// such a NID, or from the same node by what discovery says. Until then a dispatch from any NID is believed: the NIDs
// of an id are configured, and the node may send from none of them.
func (s *speaker) believes(m *Machine, id wire.ID) bool {
	own := m.comesFrom(id, s.primary)
	if s.proven = s.proven || own; own && m.learns() {
		s.primary = m.primary
	}
	return own || !s.proven
}

// maxSpeakers bounds of how many supervisors a delegate remembers the NIDs.
const maxSpeakers = 1024

// believes reports whether to believe that an answer comes from a supervisor, which the delegate has asked.
func (d *search) believes(m *Machine, id wire.ID) bool {
	s := d.speakers[id]
	ok := s.believes(m, id)
	if d.speakers == nil || len(d.speakers) >= maxSpeakers {
		d.speakers = make(map[wire.ID]speaker)
	}
	d.speakers[id] = s
	return ok
}

// speaker returns what a supervisor knows of the delegate in whose name a dispatch is, and whether to believe that.
func (g *guarded) speaker(m *Machine, d *wire.Dispatch) (s speaker, ok bool) {
	if i := slices.IndexFunc(g.delegates, func(r registered) bool { return r.ID == d.From }); i >= 0 {
		s = g.delegates[i].speaker
	}
	ok = s.believes(m, d.From)
	return s, ok
}

// fromMember reports whether to believe that a dispatch comes from a member of this node's own zone. Only of its
// neighbours does this node know from which NIDs they send.
func (m *Machine) fromMember(p wire.Ref) bool {
	l := m.links.get(p)
	return l == nil || !l.proven || m.comesFrom(m.cfg.Table.ID(p), m.links.primaries[p])
}

// queried answers a query for the members of a zone. If this node does not know the node that asks, the query must
// come from a NID of it, because the answer may be much longer.
func (m *Machine) queried(d *wire.Dispatch) {
	if p := m.cfg.Table.Lookup(d.From); m.view.has(p) && m.fromMember(p) || m.comesFrom(d.From, nid.NID{}) {
		m.dispatch(d.From, m.supervisor.answer(d.Zone, d.Number), false)
		return
	}
	m.stats.OtherNID++
}
