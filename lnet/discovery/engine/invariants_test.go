package engine

import "fmt"

// invariants reports an invariant that does not hold between steps.
func (m *Machine) invariants() error {
	nids, probes, overflow := 0, 0, 0
	for _, p := range m.peers.inOrder() {
		nids += len(p.nis)
		probes += p.probing
		overflow += max(0, len(p.claimed)-ownClaims)
		if err := m.peerInvariants(p); err != nil {
			return fmt.Errorf("peer %v: %w", p.primary, err)
		}
	}
	under := 0
	for _, n := range m.inFlight[:aside] {
		under += n
	}
	if n := m.inFlight[aside]; n < 0 || n > asideFactor*m.limits.MaxInFlight {
		return fmt.Errorf("%d exchanges have stepped aside", n)
	}
	for id, x := range m.tries {
		if p := x.peer; p.exchange != x || p.dropped || !x.due.IsSet() || x.first.id != id && x.latest.id != id {
			return fmt.Errorf("peer %v: exchange %+v under way, dropped %v", p.primary, p.exchange, p.dropped)
		}
	}
	for id, p := range m.unacked {
		if p.dropped || p.unacked == nil || p.unacked.id != id || !p.unacked.due.IsSet() || m.tries[id] != nil {
			return fmt.Errorf("peer %v: push %d may still be acknowledged, want %+v; dropped %v", p.primary, id, p.unacked, p.dropped)
		}
	}
	for i, b := range m.probes {
		r := b.peer.rail(b.nid)
		if b.peer.dropped || r == nil || r.state != probing || i > 0 && b.deadline < m.probes[i-1].deadline {
			return fmt.Errorf("probe of %v for %v, dropped %v, until %v: %+v", b.nid, b.peer.primary, b.peer.dropped, b.deadline, r)
		}
	}
	switch {
	case nids != len(m.peers.byNID) || nids > m.limits.MaxNIDs || under > m.limits.MaxInFlight || len(m.tries) < under || len(m.dirty) > 0:
		return fmt.Errorf("%d NIDs, %d in the table, %d exchanges, %d to publish", nids, len(m.peers.byNID), under, len(m.dirty))
	case probes != len(m.probes) || probes > m.limits.MaxProbes || overflow != m.claims || overflow > m.limits.MaxClaims:
		return fmt.Errorf("%d of %d probes, %d of %d claims", probes, len(m.probes), overflow, m.claims)
	}
	return nil
}

// peerInvariants is what must hold for a peer of the table.
func (m *Machine) peerInvariants(p *peer) error {
	switch {
	case p.dropped || len(p.nis) == 0 || p.nis[0].NID != p.primary || m.peers.of(p.by) != p:
		return fmt.Errorf("NIs %v, dropped %v, info from %v", p.nis, p.dropped, p.by)
	case len(p.waiting) > 0 && p.exchange == nil && !p.queued && !p.patience.IsSet():
		return fmt.Errorf("%v wait for nothing", p.waiting)
	case p.probing > maxProbing || len(p.rails) != len(p.nis)+len(p.claimed):
		return fmt.Errorf("%d probes, %d NIDs, %d of its own, %d claimed", p.probing, len(p.rails), len(p.nis), len(p.claimed))
	}
	if h := p.hearsay; h != &nothing && len(h.claimed) == 0 && !h.patience.IsSet() {
		return fmt.Errorf("memory for claims, and none")
	}
	for _, id := range p.waiting {
		if m.peers.of(id) != p {
			return fmt.Errorf("%v waits, and is not its NID", id)
		}
	}
	for _, r := range p.rails {
		if (r.state == confirmed) != (m.peers.of(r.NID) == p) {
			return fmt.Errorf("%v is in state %d and a NID of %v", r.NID, r.state, m.peers.of(r.NID))
		}
	}
	if next, _ := m.nextClaim(p); (next != nil) != p.toProbe.IsSet() {
		return fmt.Errorf("next claim %v, on the agenda %v", next, p.toProbe.IsSet())
	}
	return nil
}
