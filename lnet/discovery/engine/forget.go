package engine

import (
	"maps"
	"slices"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// forgets removes the peer with a NID for which lnet has no peer NI any more. A peer with an exchange under way, or
// one that a message or call waits for, is not removed. If lnet needs the removed peer again later, its discovery
// adds it to the table.
func (m *Machine) forgets(id nid.NID, out *Output) {
	p := m.peers.of(id)
	if p == nil || !p.expendable() {
		return
	}
	m.delete(p, out)
	m.peers.shrink()
}

// disown takes NIDs that are now this node's own from a peer that had them before. It forgets the peer if
// none of its confirmed NIDs is left. A configured peer keeps its NIDs, as an administrator has said.
func (m *Machine) disown(p *peer, out *Output) {
	own := m.isOwn
	switch {
	case p.flags.Has(lnet.PeerConfigured) || !slices.ContainsFunc(p.rails, func(r rail) bool { return own(r.NID) }):
		return
	case !slices.ContainsFunc(p.nis, func(ni wire.NIStatus) bool { return !own(ni.NID) }):
		m.delete(p, out)
		return
	}
	old := p.rails
	p.rails = nil
	for _, r := range old {
		switch {
		case !own(r.NID):
			p.rails = append(p.rails, r)
		case r.state == confirmed:
			m.forget(p, r.NID, out)
		case r.state == probing:
			m.withdraw(p, r.NID, out)
		}
	}
	m.relist(p)
	if own(p.by) {
		p.by = p.primary
	}
}

// shrinkAt is how many peers are forgotten before the memory of their table is
// given back: a map keeps its size for ever.
const shrinkAt = 4096

// shrink counts a forgotten peer, and may renew the map.
func (t *table) shrink() {
	t.forgotten++
	if t.forgotten < shrinkAt || t.forgotten < 4*len(t.byNID) {
		return
	}
	t.forgotten = 0
	fresh := make(map[nid.NID]*peer, len(t.byNID))
	maps.Copy(fresh, t.byNID)
	t.byNID = fresh
}
