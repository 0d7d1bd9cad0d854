package discovery

import (
	"slices"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// merge makes a peer what its info says (lnet_peer_data_present) and returns
// the peer that has the info's primary NID from now on.
func (m *Machine) merge(p *peer, out *Output) *peer {
	nis := p.data
	p.data = nil
	p.flags &^= lnet.PeerDataPresent
	p.flags |= lnet.PeerNIDsUpToDate
	if !p.flags.Has(lnet.PeerMultiRail) || p.flags.Has(lnet.PeerNoDiscovery) {
		p.setStatuses(nis) // each of its NIDs is a peer of its own
		return p
	}
	nis = m.usable(nis)
	if len(nis) == 0 {
		return p
	}
	if other := m.peers.of(nis[0].NID); other != nil && other != p {
		m.absorb(other, p, out)
		p = other
	}
	m.setNIs(p, nis, out)
	return p
}

// usable returns the entries of an info that can be a peer's: no NID twice,
// none of ours, no 0@lo.
func (m *Machine) usable(nis []wire.NIStatus) []wire.NIStatus {
	seen := make(map[nid.NID]bool, len(nis))
	var good []wire.NIStatus
	for _, ni := range nis {
		switch {
		case m.isOwn(ni.NID):
			m.stats.OwnNIDs++
		case ni.NID.IsValid() && !ni.NID.IsAny() && !ni.NID.IsLo() && !seen[ni.NID]:
			seen[ni.NID] = true
			good = append(good, ni)
		}
	}
	return good
}

// absorb turns p into a part of other, which is the same node.
func (m *Machine) absorb(other, p *peer, out *Output) {
	const carried = lnet.PeerMultiRail | lnet.PeerRouter | lnet.PeerNIDsUpToDate | lnet.PeerDiscovering |
		lnet.PeerForcePing | lnet.PeerForcePush
	other.flags = other.flags&^lnet.PeerNoDiscovery | p.flags&carried
	other.features, other.sequence = p.features, p.sequence
	other.room, other.acked = max(other.room, p.room), max(other.acked, p.acked)
	if other.exchange == 0 {
		other.from, other.to = p.from, p.to
	}
	for _, id := range p.waiting {
		other.await(id)
	}
	for _, ni := range p.nis {
		m.peers.give(ni.NID, other)
	}
	other.nis = slices.Concat(other.nis, p.nis)
	p.nis, p.waiting = nil, nil
	m.drop(p, out)
}

// setNIs makes nis the interfaces of a peer: NIDs are added, taken from the
// peers that had them, and deleted (lnet_peer_merge_data). The NID at which the
// peer answered stays in any case, because messages may wait for it; local
// policy.
func (m *Machine) setNIs(p *peer, nis []wire.NIStatus, out *Output) {
	if answered := p.to; answered.IsValid() && m.peers.of(answered) == p && !listed(nis, answered) {
		nis = append(nis, wire.NIStatus{NID: answered, Status: wire.StatusUp})
	}
	old := p.nis
	p.nis = make([]wire.NIStatus, 0, len(nis))
	for _, ni := range nis {
		owner := m.peers.of(ni.NID)
		switch {
		case owner == nil && !m.room(p, out):
			m.stats.TableFull++
			continue
		case owner != nil && owner != p:
			m.take(ni.NID, owner, p, out)
		}
		m.peers.give(ni.NID, p)
		p.nis = append(p.nis, ni)
	}
	if len(p.nis) == 0 { // there was no room for any
		p.nis = old
	}
	p.primary = p.nis[0].NID
	for _, ni := range old {
		if !listed(p.nis, ni.NID) {
			m.forget(p, ni.NID, out)
		}
	}
	m.changed(p)
}

// take takes a NID from the peer that had it. A peer that loses its primary NID
// is no peer any more.
func (m *Machine) take(id nid.NID, owner, p *peer, out *Output) {
	owner.nis = slices.DeleteFunc(slices.Clone(owner.nis), func(ni wire.NIStatus) bool { return ni.NID == id })
	m.changed(owner)
	if i := slices.Index(owner.waiting, id); i >= 0 {
		owner.waiting = slices.Delete(owner.waiting, i, i+1)
		p.await(id)
	}
	if owner.primary == id {
		m.delete(owner, out)
	}
}

// recreate forgets a peer that turned its discovery off; who waits for one of
// its NIDs waits for a new peer.
func (m *Machine) recreate(now time.Duration, p *peer, out *Output) {
	waiting := p.waiting
	p.waiting = nil
	m.delete(p, out)
	for _, id := range waiting {
		m.ask(now, Input{Kind: Discover, NID: id}, out)
	}
}

// setStatuses updates the statuses of NIDs that are known already.
func (p *peer) setStatuses(nis []wire.NIStatus) {
	p.nis = slices.Clone(p.nis)
	for i := range p.nis {
		if at := slices.IndexFunc(nis, func(ni wire.NIStatus) bool { return ni.NID == p.nis[i].NID }); at >= 0 {
			p.nis[i].Status = nis[at].Status
		}
	}
}

func listed(nis []wire.NIStatus, id nid.NID) bool {
	return slices.ContainsFunc(nis, func(ni wire.NIStatus) bool { return ni.NID == id })
}
