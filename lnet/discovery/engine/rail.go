package engine

import (
	"slices"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// rail is a NID that a peer's latest info lists.
type rail struct {
	wire.NIStatus
	state       railState
	tries       uint8         // number of probes in a row without an answer
	sequence    uint32        // lp_peer_seqno: sequence number of the latest info from this NID
	incarnation uint64        // the node's incarnation when it sent that info; 0: unknown
	retryAt     time.Duration // time before which a claimed NID is not probed again
}

// railState says whether a NID belongs to the peer. A claimed NID is confirmed when a probe of it is
// answered by an info that lists the NID from which the claim came.
//
//	state      entered when                             left when
//	confirmed  the peer has answered at the NID, or     an info of the peer does not list it
//	           pushed from it, or a probe confirmed it
//	claim      an info of the peer lists the NID        a probe is sent (to probing)
//	probing    a probe is sent                          an answer comes (to confirmed or denied),
//	                                                    or none comes (to claim or silent)
//	denied     the node at the NID does not list the    the next info of the peer comes (to claim)
//	           peer
//	silent     maxTries probes were not answered        the next info of the peer comes (to claim)
type railState uint8

const (
	confirmed railState = iota
	claim
	probing
	denied
	silent
)

// rail returns the entry of a NID, or nil. It is valid until rails changes.
func (p *peer) rail(id nid.NID) *rail {
	i := slices.IndexFunc(p.rails, func(r rail) bool { return r.NID == id })
	if i < 0 {
		return nil
	}
	return &p.rails[i]
}

// relist updates nis, claimed and primary after a change of rails.
func (p *peer) relist() {
	var claimed []wire.NIStatus
	p.nis = make([]wire.NIStatus, 0, len(p.rails))
	for i := range p.rails {
		if r := &p.rails[i]; r.state == confirmed {
			p.nis = append(p.nis, r.NIStatus)
		} else {
			claimed = append(claimed, r.NIStatus)
		}
	}
	p.claim(claimed)
	p.primary = p.nis[0].NID
}

// sendsTo notes that a ping or push goes to a NID of p.
func (p *peer) sendsTo(id nid.NID) {
	p.tried = slices.IndexFunc(p.rails, func(r rail) bool { return r.NID == id })
}

// isNews reports whether the machine takes a ping info from a NID of p. It must not be older
// than the latest one from any NID of p, because all are of one incarnation of the node. An
// equal one is taken, because routers change statuses without a new sequence number. If the NID
// has another incarnation than before, isNews separates it from the peer's other NIDs, because
// it is not known whether they still belong to one node. If the info answers a ping, asked is
// the number of the latest info when that ping was sent.
func (m *Machine) isNews(now time.Duration, p *peer, in Input, asked uint32, out *Output) bool {
	r := p.rail(in.Remote)
	switch {
	case in.Incarnation != r.incarnation:
		switch {
		case r.incarnation == 0:
		// An administrator has said that these NIDs belong together, so they stay one peer. The incarnation
		// of each is unknown until it is heard.
		case p.flags.Has(lnet.PeerConfigured):
			m.restarted(p, in, out)
			for i := range p.rails {
				p.rails[i].incarnation = 0
			}
		default:
			m.restarted(p, in, out)
			if !m.parts(p, in.Info.Features) { // otherwise the caller makes each NID a peer of its own
				m.separate(now, p, in, out)
				r = p.rail(in.Remote)
			}
		}
		r.incarnation = in.Incarnation
	case in.Incarnation != 0 && in.Info.Sequence < p.newest():
		m.stats.OldInfos++
		return false
	case in.Incarnation == 0 && !m.isNear(in.Remote) && !m.outranks(p, in, asked):
		m.stats.OldInfos++
		return false
	}
	r.sequence = in.Info.Sequence
	return true
}

// outranks reports whether to take an info that came through a gateway, and whose incarnation
// is therefore not known. If its sequence number is lower than known ones, either it was
// overtaken, or the node has started again. Only the answer to a ping decides that, unless
// another info has come since the ping was sent.
func (m *Machine) outranks(p *peer, in Input, asked uint32) bool {
	latest := p.latest()
	if in.Info.Sequence >= latest {
		return true
	}
	if in.Kind != Replied {
		p.stale()
		return false
	}
	if latest != asked {
		return false
	}
	for i := range p.rails { // the node has started again, so sequences begin anew
		p.rails[i].sequence = 0
	}
	p.acked, p.owed = 0, 0 // the restarted node does not have this node's info
	return true
}

// latest is the sequence number of the latest info from a NID of p, whatever its incarnation.
func (p *peer) latest() (sequence uint32) {
	for i := range p.rails {
		if r := &p.rails[i]; r.state == confirmed {
			sequence = max(sequence, r.sequence)
		}
	}
	return sequence
}

// newest is the sequence number of the latest info from a NID of p whose incarnation is known.
func (p *peer) newest() (sequence uint32) {
	for i := range p.rails {
		if r := &p.rails[i]; r.state == confirmed && r.incarnation != 0 {
			sequence = max(sequence, r.sequence)
		}
	}
	return sequence
}

// separate takes all NIDs but that of an info from p, and makes another peer of them. It forgets the NIDs
// beyond a gateway: only the gateway said that they are its own, and messages to a peer with
// these NIDs could go through the gateway itself, see mayProbe. If the discovery of a gateway is off by now, its other
// NIDs cannot stay one peer either, so separate makes a peer of each.
func (m *Machine) separate(now time.Duration, p *peer, in Input, out *Output) {
	id := in.Remote
	m.disclaim(p, out)
	var rest []rail
	gateway := m.isGateway(p)
	for _, r := range p.rails {
		switch {
		case r.NID == id:
		case gateway && !m.isNear(r.NID):
			m.forget(p, r.NID, out)
		default:
			rest = append(rest, r)
		}
	}
	if len(p.rails) == 1 {
		return
	}
	p.rails, p.by, p.data = []rail{*p.rail(id)}, id, nil
	p.flags &^= lnet.PeerDataPresent
	p.relist()
	m.changed(p)
	switch {
	case gateway && !in.Info.Features.Has(wire.FeatureDiscovery):
		m.single(now, p, rest, in.Info.Features, out)
	case len(rest) > 0:
		m.split(now, p, rest, out)
	}
}

// single makes a peer of each of some NIDs of a gateway whose features say that its discovery is off. Routes by these NIDs
// depend on the states of the NIDs beyond the gateway, which were forgotten, so the machine asks for them at once.
func (m *Machine) single(now time.Duration, p *peer, rest []rail, f wire.Features, out *Output) {
	for _, r := range rest {
		m.split(now, p, []rail{r}, out)
		of := m.peers.of(r.NID)
		m.believe(of, f)
		of.stale()
		m.start(now, of, out)
	}
}

// split makes another peer of some NIDs of p.
func (m *Machine) split(now time.Duration, p *peer, rest []rail, out *Output) {
	const kept = lnet.PeerMultiRail | lnet.PeerNoDiscovery | lnet.PeerRouter | lnet.PeerDiscovered |
		lnet.PeerRediscover | lnet.PeerNIDsUpToDate
	others := newPeer(rest...)
	others.features, others.flags, others.acked, others.owed = p.features, p.flags&kept, p.acked, p.owed
	others.room, others.spent = p.room, p.spent
	for _, r := range rest {
		m.peers.give(r.NID, others)
		if i := slices.Index(p.waiting, r.NID); i >= 0 {
			p.waiting = slices.Delete(p.waiting, i, i+1)
			others.await(r.NID)
		}
	}
	m.peers.touch(others)
	m.changed(others)
	if len(others.waiting) > 0 {
		m.start(now, others, out)
	}
}
