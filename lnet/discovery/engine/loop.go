package engine

import (
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// maxBadInfos is how many pings in a row may bring back no valid info before discovery fails.
// Kernels have no such limit; local policy.
const maxBadInfos = 3

// start queues p for discovery (lnet_peer_queue_for_discovery).
func (m *Machine) start(now time.Duration, p *peer, out *Output) {
	if p.flags.Has(lnet.PeerRediscover) && m.self.Discovery {
		p.flags &^= lnet.PeerNIDsUpToDate
	}
	p.flags |= lnet.PeerDiscovering
	m.peers.touch(p)
	m.changed(p)
	m.advance(now, p, out)
}

// advance takes the steps of the table of states (see Machine), until the peer waits for an answer or
// discovery ends.
func (m *Machine) advance(now time.Duration, p *peer, out *Output) {
	for p.flags.Has(lnet.PeerDiscovering) {
		if p.exchange != nil && p.flags&(lnet.PeerMarkDeletion|lnet.PeerDataPresent) == 0 {
			return
		}
		m.changed(p)
		switch {
		case p.flags.Has(lnet.PeerMarkDeletion):
			m.recreate(now, p, out)
			return
		case p.flags.Has(lnet.PeerDataPresent):
			m.merge(now, p, out)
		case p.flags.Has(lnet.PeerPingFailed):
			m.pingFailed(now, p, out)
		case p.flags.Has(lnet.PeerPushFailed):
			p.flags &^= lnet.PeerPushFailed
			m.complete(now, p, p.failure, out)
		case p.flags.Has(lnet.PeerForcePing) || p.flags&(lnet.PeerForcePush|lnet.PeerNIDsUpToDate) == 0:
			if !m.sendPing(now, p, out) {
				return
			}
		case p.flags.Has(lnet.PeerForcePush) && !p.flags.Has(lnet.PeerMultiRail):
			p.flags &^= lnet.PeerForcePush
		case p.flags.Has(lnet.PeerForcePush) || m.needsPush(p):
			if !m.sendPush(now, p, out) {
				return
			}
		case m.awaitsProbes(p):
			return
		default:
			m.complete(now, p, nil, out)
		}
	}
}

// pingFailed handles a ping without a valid answer (lnet_peer_ping_failed).
func (m *Machine) pingFailed(now time.Duration, p *peer, out *Output) {
	p.flags &^= lnet.PeerPingFailed
	p.flags |= lnet.PeerForcePing
	p.badInfos++
	switch {
	case p.failure != nil:
		m.complete(now, p, p.failure, out)
	case p.badInfos >= maxBadInfos:
		m.complete(now, p, p.badInfo, out)
	}
}

// complete ends the discovery of p (lnet_peer_discovery_complete).
func (m *Machine) complete(now time.Duration, p *peer, err error, out *Output) {
	p.flags &^= lnet.PeerDiscovering
	p.failure, p.badInfo, p.badInfos = nil, nil, 0
	p.refresh, p.askAt = false, nid.NID{}
	m.endPatience(p)
	if err != nil {
		m.again(now, p, err)
	} else {
		m.forgo(p)
		p.flags &^= lnet.PeerRediscover
		p.flags |= lnet.PeerDiscovered
		if !m.self.Discovery {
			p.flags |= lnet.PeerRediscover
		}
	}
	for _, id := range p.waiting {
		out.Done = append(out.Done, Done{id, err})
	}
	p.waiting = nil
	m.changed(p)
}

// needsPush reports whether a peer lacks our latest info (lnet_peer_needs_push), or still has to be told that discovery was
// turned off.
func (m *Machine) needsPush(p *peer) bool {
	if !p.flags.Has(lnet.PeerMultiRail) {
		return false
	}
	both := m.self.Discovery && !p.flags.Has(lnet.PeerNoDiscovery)
	return both && p.acked < m.self.Sequence || p.acked < p.owed
}

func (m *Machine) sendPing(now time.Duration, p *peer, out *Output) bool {
	if !m.begin(now, p) {
		return false
	}
	m.ping(now, p, out)
	return true
}

// ping sends a ping as the next try of the exchange with p.
func (m *Machine) ping(now time.Duration, p *peer, out *Output) {
	m.stats.Pings++
	p.flags &^= lnet.PeerForcePing
	p.flags |= lnet.PeerPingSent
	room := max(p.room, wire.PingInfoSize(wire.MinPingEntries))
	out.Sends = append(out.Sends, Send{Exchange: m.open(now, p, out), To: m.pingAt(p), Room: room})
}

func (m *Machine) sendPush(now time.Duration, p *peer, out *Output) bool {
	if !m.begin(now, p) {
		return false
	}
	m.push(now, p, out)
	return true
}

// push sends a push as the next try of the exchange with p.
func (m *Machine) push(now time.Duration, p *peer, out *Output) {
	m.stats.Pushes++
	p.flags &^= lnet.PeerForcePush
	p.flags |= lnet.PeerPushSent
	send := Send{Exchange: m.open(now, p, out), Push: true}
	send.From, send.To = m.pushBy(p)
	out.Sends = append(out.Sends, send)
}

// pushBy returns the path of a push. It is the path on which the peer's last REPLY or push came, and that
// path is used only once. If there is no such path, or if the peer says that its NID on it is down, LNet
// chooses the path. The push then goes to the primary NID or, if it is a repetition, to another NID.
func (m *Machine) pushBy(p *peer) (from, to nid.NID) {
	from, to = p.from, p.to
	if m.peers.of(to) != p || p.rail(to).Status == wire.StatusDown { // to is zero, another peer's by now, or down
		from, to = nid.NID{}, p.primary
		if p.repeats > 0 || p.exchange.repeats > 0 {
			to = m.nextNID(p)
		}
	}
	p.from, p.to = nid.NID{}, nid.NID{}
	p.sendsTo(to)
	return from, to
}

// expire repeats or fails the exchanges that have waited for an answer long enough, and starts exchanges of
// peers that wait for a slot.
func (m *Machine) expire(now time.Duration, out *Output) {
	m.expireProbes(now, out)
	for d := m.due.Pop(now); d != nil; d = m.due.Pop(now) {
		m.overdue(now, d.Of, out)
	}
	m.expireUnacked(now, out)
	for p := m.next(); p != nil; p = m.next() {
		m.advance(now, p, out)
	}
	m.pushAgain(now, out)
}
