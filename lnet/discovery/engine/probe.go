package engine

import (
	"slices"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// How claimed NIDs are probed; local policy, since kernels believe every claim.
const (
	// probeTimeout bounds a probe. It is shorter than the timeout of a ping, so that an
	// address that never answers does not occupy a slot of MaxProbes for long.
	probeTimeout = 5 * time.Second
	// probePatience is how long the first discovery of a peer, and a discovery that
	// a call has requested, waits for the probes of the peer's claims. Other
	// discoveries of a known peer, and the messages to it, do not wait for probes.
	probePatience = time.Second
	// maxProbing bounds the probes under way for one peer.
	maxProbing = 4
	// maxTries is how many probes of a claim may stay without an answer. The n-th one
	// is followed by a pause of 2^n s.
	maxTries = 5
	// A peer causes a burst of probes, and then one in each interval.
	probeBurst    = 16
	probeInterval = time.Second
)

// probe is a ping of a NID that a peer claims, as a test of return routability. It goes to that
// NID alone, and its answer counts only if it comes from that NID.
type probe struct {
	exchange uint64
	sentAt   time.Duration
	deadline time.Duration
	peer     *peer
	nid      nid.NID
	// asked is what the method latest of the peer that had nid returned when the probe was sent; 0 if no peer
	// had that NID.
	asked  uint32
	newest uint32 // the result of the method newest for peer, when the probe was sent
}

// reaches reports whether one of our NIs reaches a NID, or a route does.
func (m *Machine) reaches(id nid.NID) bool {
	return m.isNear(id) || slices.Contains(m.beyond, id.Net())
}

// mayProbe reports whether a claim of p can be probed. A claim of a NID beyond gateways cannot, if p is a
// gateway, or says that it routes: the probe might go through that gateway. Kernels treat a message to their
// own NID on another net as a protocol error: they close the connection, and all messages that are under way
// on it are lost.
func (m *Machine) mayProbe(p *peer, id nid.NID) bool {
	return m.isNear(id) || m.reaches(id) && !m.isGateway(p) && !m.claimsGateway(p)
}

// isNear reports whether one of our NIs reaches a NID.
func (m *Machine) isNear(id nid.NID) bool {
	return slices.ContainsFunc(m.self.NIDs, func(own nid.NID) bool {
		return own.Net() == id.Net() && own.Is4() == id.Is4()
	})
}

// nextClaim returns the claim of p that is to be probed next, and when; nil: none.
func (m *Machine) nextClaim(p *peer) (next *rail, at time.Duration) {
	if p.probing >= maxProbing || !m.self.Discovery {
		return nil, 0
	}
	for i := range p.rails {
		r := &p.rails[i]
		if r.state == claim && (next == nil || r.retryAt < next.retryAt) && m.mayProbe(p, r.NID) {
			next = r
		}
	}
	if next == nil {
		return nil, 0
	}
	return next, max(next.retryAt, p.spent-(probeBurst-1)*probeInterval)
}

// plan sets the time of the next probe of p's claims.
func (m *Machine) plan(p *peer) {
	switch next, at := m.nextClaim(p); {
	case next == nil:
		m.agenda.Clear(&p.toProbe)
	case !p.toProbe.IsSet() || p.toProbe.At() != at: // an unchanged time keeps its position in the queue
		m.agenda.Set(&p.toProbe, at)
	}
}

// nextProbe returns when the next probe is due or ends.
func (m *Machine) nextProbe() time.Duration {
	at := machine.Never
	if len(m.probes) > 0 {
		at = m.probes[0].deadline
	}
	if len(m.probes) < m.limits.MaxProbes {
		at = min(at, m.agenda.Next())
	}
	return at
}

// probeDue sends the probes that are due, and continues the discoveries that have waited long enough for
// their probes (probePatience).
func (m *Machine) probeDue(now time.Duration, out *Output) {
	for m.patient.Next() <= now {
		p := m.patient.First().Of
		before := m.shown(p)
		if m.endPatience(p); m.shown(p) != before {
			m.changed(p)
		}
		if p.isBlank() {
			m.discard(p, out)
		} else {
			m.advance(now, p, out)
		}
	}
	for m.agenda.Next() <= now && len(m.probes) < m.limits.MaxProbes {
		p := m.agenda.First().Of
		r, _ := m.nextClaim(p)
		m.sendProbe(now, p, r, out)
	}
}

func (m *Machine) sendProbe(now time.Duration, p *peer, r *rail, out *Output) {
	m.last++
	m.stats.Probes++
	b := &probe{exchange: m.last, sentAt: now, deadline: now + m.probeTimeout(), peer: p, nid: r.NID, newest: p.newest()}
	if of := m.peers.of(r.NID); of != nil {
		b.asked = of.latest()
	}
	m.probes = append(m.probes, b)
	r.state = probing
	p.probing++
	p.spent = max(p.spent, now) + probeInterval
	m.plan(p)
	// The answer lists all NIDs of the node, so it needs as much room as the largest info of p.
	room := max(p.room, wire.PingInfoSize(wire.MinPingEntries))
	out.Sends = append(out.Sends, Send{Exchange: m.last, Probe: true, To: r.NID, Room: room})
}

// beginPatience makes the discovery of p wait for its probes, for probePatience from now. If it waits
// already, its wait does not become longer.
func (m *Machine) beginPatience(now time.Duration, p *peer) {
	until := now + probePatience
	// If p.patience is later than that, the method remember has set it for another purpose, and it is
	// replaced.
	if len(p.claimed) > 0 && (!p.patience.IsSet() || p.patience.At() > until) {
		m.patient.Set(&p.patience, until)
	}
}

func (m *Machine) endPatience(p *peer) {
	m.patient.Clear(&p.patience)
	p.unburden()
}

// awaitsProbes reports whether the discovery of p is to wait for its probes.
func (m *Machine) awaitsProbes(p *peer) bool {
	return p.patience.IsSet() && slices.ContainsFunc(p.rails, func(r rail) bool {
		return r.state == probing || r.state == claim && r.tries == 0 && m.mayProbe(p, r.NID)
	})
}

func (m *Machine) probeOf(exchange uint64) *probe {
	for _, b := range m.probes {
		if b.exchange == exchange {
			return b
		}
	}
	return nil
}

// endProbe ends a probe and returns the claim that it was to test.
func (m *Machine) endProbe(b *probe) *rail {
	i := slices.Index(m.probes, b)
	m.probes = slices.Delete(m.probes, i, i+1)
	b.peer.probing--
	r := b.peer.rail(b.nid)
	r.state = claim
	return r
}

// withdraw ends the probe of a claim that was withdrawn. The caller replaces or removes
// the rail.
func (m *Machine) withdraw(p *peer, id nid.NID, out *Output) {
	i := slices.IndexFunc(m.probes, func(b *probe) bool { return b.peer == p && b.nid == id })
	out.Cancelled = append(out.Cancelled, m.probes[i].exchange)
	m.probes = slices.Delete(m.probes, i, i+1)
	p.probing--
}

// probed handles the answer to a probe, or its failure.
func (m *Machine) probed(now time.Duration, b *probe, in Input, out *Output) {
	p, before := b.peer, m.shown(b.peer)
	r := m.endProbe(b)
	switch {
	case in.Kind == Failed:
		m.unanswered(now, r)
	case in.User || in.Remote != b.nid || m.check(in) != nil:
		m.stats.BadReplies++
		m.unanswered(now, r)
	case in.Need > 0 && !listed(in.Info.NIs, p.by):
		m.stats.CutInfos++
		p.room = max(p.room, in.Need)
		m.unanswered(now, r)
	case !listed(in.Info.NIs, p.by), !in.Info.Features.Has(wire.FeatureMultiRail | wire.FeatureDiscovery):
		m.stats.Denied++
		r.state = denied
	default:
		m.confirm(now, b, in, out)
	}
	if m.shown(p) != before {
		m.changed(p)
	}
	m.plan(p)
	m.advance(now, p, out)
}

// unanswered schedules another probe of a claim, or gives up after maxTries.
func (m *Machine) unanswered(now time.Duration, r *rail) {
	if r.tries++; r.tries >= maxTries {
		m.stats.Unconfirmed++
		r.state = silent
		return
	}
	r.retryAt = now + time.Second<<r.tries
}

// old handles the answer to a probe if a newer info of the peer is known. before is the latest sequence number that
// was known when the probe was sent. If the answer is older than that too, its node has started again, and what is
// known of the peer is from the earlier incarnation. Otherwise a newer info has overtaken the answer, so the claim is
// probed anew at once.
func (m *Machine) old(now time.Duration, b *probe, in Input, before uint32) {
	if in.Info.Sequence < before {
		m.unanswered(now, b.peer.rail(b.nid))
	}
}

// confirm adds the NID of a probe to its peer p when both list each other: p lists the NID, and
// the node at the NID lists p.by.
func (m *Machine) confirm(now time.Duration, b *probe, in Input, out *Output) {
	p, id := b.peer, b.nid
	part := m.peers.of(id)
	switch {
	case part != nil && part.flags.Has(lnet.PeerConfigured): // an administrator gave the NID to another peer, so p cannot have it
		m.stats.Denied++
		p.rail(id).state = denied
		return
	case in.Incarnation != 0 && in.Info.Sequence < p.newest():
		m.stats.OldInfos++
		m.old(now, b, in, b.newest)
		return
	case part != nil:
		if !m.isNews(now, part, in, b.asked, out) {
			m.old(now, b, in, b.asked)
			return
		}
		m.absorb(p, part, out)
	case m.room(p, out):
		r := p.rail(id)
		r.state, r.incarnation, r.sequence = confirmed, in.Incarnation, in.Info.Sequence
		m.peers.give(id, p)
	default:
		m.stats.TableFull++
		m.unanswered(now, p.rail(id))
		return
	}
	m.stats.Confirmed++
	m.vouchFor(p, out)
	m.relist(p)
	if len(p.waiting) > 0 && !p.flags.Has(lnet.PeerDiscovering) {
		m.start(now, p, out)
	}
}

// probeTimeout returns how long a probe may stay without an answer.
func (m *Machine) probeTimeout() time.Duration { return min(probeTimeout, m.limits.Timeout) }

// shortenProbes applies a new Limits.Timeout to the probes in progress, as shorten does to exchanges. Probes that were sent
// later still end later.
func (m *Machine) shortenProbes(now time.Duration) {
	for _, b := range m.probes {
		b.deadline = min(b.deadline, max(now, b.sentAt+m.probeTimeout()))
	}
}

// expireProbes ends the probes whose deadline has passed without an answer.
func (m *Machine) expireProbes(now time.Duration, out *Output) {
	for len(m.probes) > 0 && m.probes[0].deadline <= now {
		b := m.probes[0]
		m.stats.Timeouts++
		out.Cancelled = append(out.Cancelled, b.exchange)
		m.probed(now, b, Input{Kind: Failed}, out)
	}
}
