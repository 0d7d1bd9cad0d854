package engine

import (
	"slices"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// merge applies the ping info that has arrived to a peer (lnet_peer_data_present). NIDs in the info
// that were the peer's own before stay its own. The other NIDs in the info become claims, which probes
// must confirm; kernels accept them without a probe.
func (m *Machine) merge(now time.Duration, p *peer, out *Output) {
	list := p.data
	p.data = nil
	p.flags &^= lnet.PeerDataPresent
	p.flags |= lnet.PeerNIDsUpToDate
	if p.flags.Has(lnet.PeerConfigured) { // an administrator has said which NIDs the peer has, so only their statuses change
		p.setStatuses(list)
		return
	}
	if !p.flags.Has(lnet.PeerMultiRail) || p.flags.Has(lnet.PeerNoDiscovery) {
		if !m.isGateway(p) {
			m.disclaim(p, out)
			// The NIDs of a node without multi-rail or discovery are peers of their own, so nothing is merged
			// into p.
			p.setStatuses(list)
			return
		}
		list = m.vouched(p, list) // a gateway: routes depend on the states of its far NIs, so these stay on the list
	}
	list = m.usable(list)
	if len(list) == 0 {
		return
	}
	m.setRails(now, p, list, out)
	if p.refresh || !p.flags.Has(lnet.PeerDiscovered) {
		m.beginPatience(now, p)
	}
}

// usable returns the entries of an info that can be a peer's: no NID twice,
// none of ours, no 0@lo, none that ofLink reports.
func (m *Machine) usable(nis []wire.NIStatus) []wire.NIStatus {
	seen := make(map[nid.NID]bool, len(nis))
	var good []wire.NIStatus
	for _, ni := range nis {
		switch {
		case m.isOwn(ni.NID):
			m.stats.OwnNIDs++
		case ni.NID.IsValid() && !ni.NID.IsAny() && !ni.NID.IsLo() && !ofLink(ni.NID) && !seen[ni.NID]:
			seen[ni.NID] = true
			good = append(good, ni)
		}
	}
	return good
}

// ofLink reports whether the address of id is a link-local IPv6 address. Such an address is reached only through a
// given interface, which a NID does not name. So no node has such a NID, and a probe of it could only fail.
func ofLink(id nid.NID) bool {
	a := id.Addr()
	return a.Is6() && a.IsLinkLocalUnicast()
}

// setRails replaces the list of a peer's NIDs. NIDs that were its own stay its own, new NIDs become
// claims, and NIDs that the new list does not have are removed (lnet_peer_merge_data). The NID from
// which the info came stays in any case; local policy.
func (m *Machine) setRails(now time.Duration, p *peer, list []wire.NIStatus, out *Output) {
	if !listed(list, p.by) {
		list = append(list, wire.NIStatus{NID: p.by, Status: wire.StatusUp})
	}
	old := p.rails
	p.rails = make([]rail, 0, len(list))
	claims := 0
	for _, ni := range list {
		r := rail{NIStatus: ni, state: claim}
		if i := slices.IndexFunc(old, func(r rail) bool { return r.NID == ni.NID }); i >= 0 {
			r = old[i].again(ni.Status)
		}
		if r.state == claim && m.vouches(p, ni.NID) && m.room(p, out) {
			r.state = confirmed
			m.peers.give(ni.NID, p)
		}
		if r.state != confirmed && !m.admits(p, &claims) {
			m.stats.ClaimsFull++
			continue
		}
		p.rails = append(p.rails, r)
	}
	m.unlist(now, p, old, out)
	m.relist(p)
}

// unlist removes those of the NIDs in old that p has no more. What a gateway lists is not probed again, see vouches, so
// that its rate of probes need not be remembered.
func (m *Machine) unlist(now time.Duration, p *peer, old []rail, out *Output) {
	for _, r := range old {
		switch {
		case p.rail(r.NID) != nil:
		case r.state == confirmed:
			if m.forget(p, r.NID, out); !m.isGateway(p) {
				m.remember(now, p.spent, r.NID, out)
			}
		case r.state == probing:
			m.withdraw(p, r.NID, out)
		}
	}
}

// again returns the rail as it is after a further info of the peer has listed its NID. A claim that
// was denied or never answered may then be probed again.
func (r rail) again(s wire.Status) rail {
	r.Status = s
	if r.state == denied || r.state == silent {
		r.state, r.tries, r.retryAt = claim, 0, 0
	}
	return r
}

// ownClaims is how many claims each peer may have even if the limit of all claims is reached.
const ownClaims = 8

// admits reports whether p may have one more claim.
func (m *Machine) admits(p *peer, claims *int) bool {
	if m.claims-p.overflow+*claims >= m.limits.MaxClaims+ownClaims {
		return false
	}
	*claims++
	return true
}

// relist publishes a change of p.rails, and plans the probes that it needs.
func (m *Machine) relist(p *peer) {
	p.relist()
	overflow := max(0, len(p.claimed)-ownClaims)
	if overflow != p.overflow {
		m.claims += overflow - p.overflow
		p.overflow = overflow
	}
	m.plan(p)
	p.unburden()
	m.changed(p)
}

// disclaim removes all claims of p.
func (m *Machine) disclaim(p *peer, out *Output) {
	if len(p.claimed) == 0 {
		return
	}
	for _, r := range p.rails {
		if r.state == probing {
			m.withdraw(p, r.NID, out)
		}
	}
	p.rails = slices.DeleteFunc(p.rails, func(r rail) bool { return r.state != confirmed })
	m.relist(p)
}

// absorb moves NIDs from the peer part to p, because the node at a NID of part has confirmed that it is p's node:
// those NIDs of part that p lists. part keeps its other NIDs, if it has any.
func (m *Machine) absorb(p, part *peer, out *Output) {
	m.disclaim(part, out)
	p.acked, p.owed = max(p.acked, part.acked), max(p.owed, part.owed)
	p.room, p.spent = max(p.room, part.room), max(p.spent, part.spent)
	var rest []rail
	for _, theirs := range part.rails {
		r := p.rail(theirs.NID)
		if r == nil {
			rest = append(rest, theirs)
			continue
		}
		if r.state == probing {
			m.withdraw(p, r.NID, out)
		}
		theirs.Status = r.Status
		*r = theirs
		m.peers.give(r.NID, p)
		if i := slices.Index(part.waiting, r.NID); i >= 0 {
			part.waiting = slices.Delete(part.waiting, i, i+1)
			p.await(r.NID)
		}
	}
	if len(rest) == 0 {
		m.drop(part, out)
		return
	}
	part.rails, part.by = rest, rest[0].NID
	m.relist(part)
}

// recreate forgets a peer that has turned its discovery off. If messages to its NIDs wait, these NIDs
// are discovered anew. The limit on the rate of the peer's probes stays in force for each of them.
func (m *Machine) recreate(now time.Duration, p *peer, out *Output) {
	waiting, nis := p.waiting, p.nis
	p.waiting = nil
	m.delete(p, out)
	for _, ni := range nis {
		m.remember(now, p.spent, ni.NID, out)
	}
	for _, id := range waiting {
		m.ask(now, Input{Kind: Discover, NID: id}, out)
	}
}

// setStatuses updates the statuses of NIDs that are known already.
func (p *peer) setStatuses(nis []wire.NIStatus) {
	for i := range p.rails {
		r := &p.rails[i]
		if at := slices.IndexFunc(nis, func(ni wire.NIStatus) bool { return ni.NID == r.NID }); at >= 0 {
			r.Status = nis[at].Status
		}
	}
	p.relist()
}

func listed(nis []wire.NIStatus, id nid.NID) bool {
	return slices.ContainsFunc(nis, func(ni wire.NIStatus) bool { return ni.NID == id })
}
