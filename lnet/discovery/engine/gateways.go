package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// routesAre stores the present routes of this node. With a new route it may be possible to probe
// NIDs that were out of reach before.
func (m *Machine) routesAre(in Input) {
	m.gateways, m.beyond = in.Gateways, in.Beyond
	for _, p := range m.peers.inOrder() {
		m.plan(p)
	}
}

// isGateway reports whether a peer is a gateway of this node.
func (m *Machine) isGateway(p *peer) bool {
	return slices.ContainsFunc(m.gateways, func(id nid.NID) bool { return m.peers.of(id) == p })
}

// claimsGateway reports whether a peer lists a gateway's NID.
func (m *Machine) claimsGateway(p *peer) bool {
	return slices.ContainsFunc(m.gateways, func(id nid.NID) bool { return p.rail(id) != nil })
}

// vouchFor turns claims of a peer into its own NIDs without a probe, if the peer is a gateway
// that vouches for them. It is called when a probe has confirmed a NID of the peer, because the
// peer may be a gateway by that NID.
func (m *Machine) vouchFor(p *peer, out *Output) {
	for i := range p.rails {
		if r := &p.rails[i]; r.state == claim && m.vouches(p, r.NID) && m.room(p, out) {
			r.state = confirmed
			m.peers.give(r.NID, p)
		}
	}
}

// vouches reports whether a NID that p lists is taken for p's own without a probe because p is
// a gateway. That requires that this node has no NI on the NID's net, so that a probe would go
// through a gateway and prove no more than the gateway's own list. Also, no other peer may have
// the NID.
func (m *Machine) vouches(p *peer, id nid.NID) bool {
	if of := m.peers.of(id); of != nil && of != p {
		return false
	}
	near := slices.ContainsFunc(m.self.NIDs, func(own nid.NID) bool { return own.Net() == id.Net() })
	return !near && m.isGateway(p)
}

// vouched returns the entries of a list that are p's own already, or for which p vouches as a
// gateway.
func (m *Machine) vouched(p *peer, list []wire.NIStatus) (good []wire.NIStatus) {
	for _, ni := range list {
		if m.peers.of(ni.NID) == p || m.vouches(p, ni.NID) {
			good = append(good, ni)
		}
	}
	return good
}

// pingAt returns the NID to which the next ping of a peer goes.
func (m *Machine) pingAt(p *peer) nid.NID {
	at := p.primary
	switch {
	case m.peers.of(p.askAt) == p:
		at = p.askAt
	case p.exchange.repeats > 0:
		at = m.nextNID(p)
	}
	p.sendsTo(at)
	return at
}
