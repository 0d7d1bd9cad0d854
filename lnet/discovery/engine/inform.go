package engine

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// answered handles the answer to a ping or push, or its failure.
func (m *Machine) answered(now time.Duration, in Input, out *Output) {
	if probe := m.probeOf(in.Exchange); probe != nil && in.Kind != Acked {
		m.probed(now, probe, in, out)
		return
	}
	if p := m.unacked[in.Exchange]; p != nil && in.Kind != Replied {
		m.answeredLate(now, p, in, out)
		return
	}
	x := m.tries[in.Exchange]
	if x == nil || (in.Kind == Replied && !x.peer.flags.Has(lnet.PeerPingSent)) || (in.Kind == Acked && !x.peer.flags.Has(lnet.PeerPushSent)) {
		m.stats.Late++
		return
	}
	p, t := x.peer, x.try(in.Exchange)
	switch in.Kind {
	case Replied:
		m.end(p, t.id, out)
		m.replied(now, p, in, t.asked, out)
	case Acked:
		m.end(p, t.id, out)
		if p.acked, p.repeats = max(p.acked, in.Sequence), 0; !m.needsPush(p) {
			m.disregard(p, out)
		}
	default:
		if m.lose(x, t.id, in.Err) {
			return
		}
		m.fail(p, in.Err, t.id, out)
	}
	m.advance(now, p, out)
}

// replied takes the info that a ping brought (lnet_discovery_event_reply); see isNews for asked.
func (m *Machine) replied(now time.Duration, p *peer, in Input, asked uint32, out *Output) {
	err := m.check(in)
	if err == nil && (in.User || m.peers.of(in.Remote) != p) {
		err = fmt.Errorf("%w: a node answered that was not asked: %v", syscall.EPROTO, in.Remote)
	}
	if err != nil {
		m.stats.BadReplies++
		p.flags |= lnet.PeerPingFailed
		p.badInfo = err
		return
	}
	p.from, p.to = in.Local, in.Remote
	if !m.isNews(now, p, in, asked, out) {
		p.flags |= lnet.PeerNIDsUpToDate // the machine knows a newer info already, so the NIDs are up to date
		return
	}
	if m.parts(p, in.Info.Features) {
		p.flags |= lnet.PeerMarkDeletion
	}
	m.believe(p, in.Info.Features)
	if in.Need > p.room {
		p.room = in.Need
	}
	if in.Need > 0 {
		m.stats.CutInfos++
		p.flags |= lnet.PeerPingFailed
		p.badInfo = fmt.Errorf("%w: %w", syscall.EPROTO, &wire.TruncatedError{Size: in.Need})
		return
	}
	p.take(in)
}

// pushed handles a push (lnet_peer_push_event), which has been acknowledged whether it is
// valid or not.
func (m *Machine) pushed(now time.Duration, in Input, out *Output) {
	m.stats.PushesReceived++
	if in.User { // the push came from a user process at the node's address, which cannot speak for the node
		m.stats.UserPushes++
		return
	}
	p := m.peers.of(in.Remote)
	if p == nil && in.Known && !m.isOwn(in.Remote) {
		p = m.meet(in.Remote, out)
	}
	if p == nil {
		m.stats.UnknownPushes++
		return
	}
	p.repeats = 0
	if p.exchange == nil {
		p.from, p.to = in.Local, in.Remote
	}
	if m.tell(now, p, in, out) {
		m.start(now, p, out)
	} else if p.isBlank() && p.spent <= now {
		m.discard(p, out)
	}
}

// tell handles the ping info that a peer has pushed. It returns false if the push changes nothing.
func (m *Machine) tell(now time.Duration, p *peer, in Input, out *Output) bool {
	if err := m.check(in); err != nil {
		m.stats.BadPushes++
		p.stale()
		return true
	}
	p.room = max(p.room, in.Need)
	if !in.Info.Features.Has(wire.FeatureMultiRail) {
		m.stats.PlainPushes++
		return false
	}
	if !m.isNews(now, p, in, 0, out) {
		return p.flags.Has(lnet.PeerForcePing)
	}
	if m.parts(p, in.Info.Features) || m.turnsOff(p, in.Info.Features) {
		p.flags |= lnet.PeerMarkDeletion
	}
	m.believe(p, in.Info.Features)
	if in.Need > 0 {
		m.stats.CutInfos++
		p.stale()
	} else {
		p.flags &^= lnet.PeerNIDsUpToDate
		p.take(in)
	}
	return true
}

// check refuses infos that LNet refuses (lnet_ping_info_validate); in.Err has the errors
// of parsing.
func (m *Machine) check(in Input) error {
	most := m.limits.MaxInterfaces
	switch {
	case errors.Is(in.Err, wire.ErrNICount):
		return fmt.Errorf("%w: %w", syscall.ERANGE, in.Err)
	case in.Err != nil:
		return fmt.Errorf("%w: %w", syscall.EPROTO, in.Err)
	case len(in.Info.NIs)+1 > most, in.Need > m.MaxInfoSize():
		return fmt.Errorf("%w: %w", syscall.ERANGE, wire.ErrNICount)
	}
	return nil
}

// parts reports whether the NIDs of a peer become peers of their own, because its features say that its discovery is
// off. They stay together if an administrator has said which NIDs the peer has, or if the peer is a gateway: routes
// depend on the states of its far NIs. LNet parts NIDs only after a push that comes while it is not asking the peer.
// In other cases it keeps NIDs that the infos of the peer no longer confirm.
func (m *Machine) parts(p *peer, f wire.Features) bool {
	return len(p.nis) > 1 && !f.Has(wire.FeatureDiscovery) && !p.flags.Has(lnet.PeerConfigured) && !m.isGateway(p)
}

// turnsOff reports whether a push has told that a discovered peer with one NID has turned its discovery off. As in LNet,
// this node then forgets all that it knows of the peer, but not of a gateway.
func (m *Machine) turnsOff(p *peer, f wire.Features) bool {
	known := p.flags&(lnet.PeerNoDiscovery|lnet.PeerDiscovering|lnet.PeerConfigured) == 0 && p.flags.Has(lnet.PeerDiscovered)
	return known && len(p.nis) == 1 && !f.Has(wire.FeatureDiscovery) && !m.isGateway(p)
}

// believe updates the flags that follow from a peer's features.
func (m *Machine) believe(p *peer, f wire.Features) {
	if f.Has(wire.FeatureDiscovery) && m.self.Discovery {
		p.flags &^= lnet.PeerNoDiscovery
	} else {
		p.flags |= lnet.PeerNoDiscovery
	}
	switch {
	// An administrator has said which NIDs the peer has, so MULTI_RAIL does not follow from its features.
	case p.flags.Has(lnet.PeerConfigured):
	// A peer whose discovery is off gets no news of this node's NIDs, so it must hear of one of them only. LNet keeps
	// MULTI_RAIL when the answer to a ping says so.
	case !f.Has(wire.FeatureMultiRail | wire.FeatureDiscovery):
		p.flags &^= lnet.PeerMultiRail
	case !p.flags.Has(lnet.PeerNoDiscovery):
		p.flags |= lnet.PeerMultiRail
	}
	p.flags &^= lnet.PeerRouter
	if !f.Has(wire.FeatureRoutingDisabled) {
		p.flags |= lnet.PeerRouter
	}
	p.features = f
}

// take keeps an info until it is merged; it replaces an earlier one.
func (p *peer) take(in Input) {
	p.room = max(p.room, in.Info.Size())
	p.data, p.by = in.Info.NIs, in.Remote
	p.flags |= lnet.PeerDataPresent
}

// stale makes a ping the peer's next step.
func (p *peer) stale() {
	p.flags &^= lnet.PeerNIDsUpToDate
	p.flags |= lnet.PeerForcePing
}
