package engine

import (
	"maps"

	"ulnet/lnet/nid"
)

// forgets removes the peer with a NID for which lnet has no peer NI any more. A peer
// whose message is under way is added again by its next message.
func (m *Machine) forgets(id nid.NID, out *Output) {
	p := m.peers.of(id)
	if p == nil || !p.idle() {
		return
	}
	m.delete(p, out)
	m.peers.shrink()
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
