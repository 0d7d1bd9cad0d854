package engine

import (
	"syscall"
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

// advance takes the steps of the table of states, until the peer waits for an answer or
// discovery ends.
func (m *Machine) advance(now time.Duration, p *peer, out *Output) {
	for p.flags.Has(lnet.PeerDiscovering) {
		if p.exchange != 0 && p.flags&(lnet.PeerMarkDeletion|lnet.PeerDataPresent) == 0 {
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
			m.pingFailed(p, out)
		case p.flags.Has(lnet.PeerPushFailed):
			p.flags &^= lnet.PeerPushFailed
			m.complete(p, p.failure, out)
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
			m.complete(p, nil, out)
		}
	}
}

// pingFailed handles a ping without a valid answer (lnet_peer_ping_failed).
func (m *Machine) pingFailed(p *peer, out *Output) {
	p.flags &^= lnet.PeerPingFailed
	p.flags |= lnet.PeerForcePing
	p.badInfos++
	switch {
	case p.failure != nil:
		m.complete(p, p.failure, out)
	case p.badInfos >= maxBadInfos:
		m.complete(p, p.badInfo, out)
	}
}

// complete ends the discovery of p (lnet_peer_discovery_complete).
func (m *Machine) complete(p *peer, err error, out *Output) {
	p.flags &^= lnet.PeerDiscovering
	p.failure, p.badInfo, p.badInfos = nil, nil, 0
	p.refresh = false
	m.endPatience(p)
	if err == nil {
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

// needsPush reports whether a peer lacks our latest info (lnet_peer_needs_push).
func (m *Machine) needsPush(p *peer) bool {
	return p.flags.Has(lnet.PeerMultiRail) && !p.flags.Has(lnet.PeerNoDiscovery) &&
		m.self.Discovery && p.acked < m.self.Sequence
}

func (m *Machine) sendPing(now time.Duration, p *peer, out *Output) bool {
	if !m.begin(now, p) {
		return false
	}
	m.ping(p, out)
	return true
}

// ping sends the ping of the exchange that has just begun.
func (m *Machine) ping(p *peer, out *Output) {
	m.stats.Pings++
	p.asked = p.latest()
	p.flags &^= lnet.PeerForcePing
	p.flags |= lnet.PeerPingSent
	room := max(p.room, wire.PingInfoSize(wire.MinPingEntries))
	out.Sends = append(out.Sends, Send{Exchange: p.exchange, To: m.pingAt(p), Room: room})
}

// pingAnew pings in place of the exchange under way. The ping has the slot and the deadline of that
// exchange, so the discovery ends in time even if it is forced again and again.
func (m *Machine) pingAnew(p *peer, out *Output) {
	out.Cancelled = append(out.Cancelled, p.exchange)
	m.last++
	p.exchange = m.last
	p.flags &^= lnet.PeerPushSent
	m.ping(p, out)
}

// sendPush sends a push. It goes by the path on which the peer last answered, and that path is
// used only once. If there is no such path, or if the peer says that its NID there is down,
// LNet chooses the path to the primary NID.
func (m *Machine) sendPush(now time.Duration, p *peer, out *Output) bool {
	if !m.begin(now, p) {
		return false
	}
	m.stats.Pushes++
	p.flags &^= lnet.PeerForcePush
	p.flags |= lnet.PeerPushSent
	send := Send{Exchange: p.exchange, Push: true, From: p.from, To: p.to}
	if m.peers.of(send.To) != p || p.rail(send.To).Status == wire.StatusDown { // send.To is zero, another peer's by now, or down
		send.From, send.To = nid.NID{}, p.primary
	}
	p.from, p.to = nid.NID{}, nid.NID{}
	out.Sends = append(out.Sends, send)
	return true
}

// expire fails the exchanges whose deadline has passed without an answer, and starts exchanges of
// peers that wait for a slot.
func (m *Machine) expire(now time.Duration, out *Output) {
	m.expireProbes(now, out)
	for len(m.sent) > 0 && m.sent[0].deadline <= now {
		p := m.sent[0]
		m.stats.Timeouts++
		out.Cancelled = append(out.Cancelled, p.exchange)
		m.fail(p, syscall.ETIMEDOUT)
		m.advance(now, p, out)
	}
	for p := m.next(); p != nil; p = m.next() {
		m.advance(now, p, out)
	}
}

// fail ends the exchange with p because of err.
func (m *Machine) fail(p *peer, err error) {
	failed := lnet.PeerPingFailed
	if p.flags.Has(lnet.PeerPushSent) {
		failed = lnet.PeerPushFailed
	}
	m.end(p)
	p.flags |= failed
	p.failure = err
}
