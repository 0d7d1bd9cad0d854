package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// heardFrom handles the arrival of a message from a node.
func (m *Machine) heardFrom(l *link, v wire.Version) {
	l.greeted = l.greeted && v.Inc <= l.version.Inc
	l.heard, l.version = m.now, newer(l.version, v)
	l.last, l.met, l.tries = m.now, true, 0
	switch l.state {
	case up:
		l.probing = false
		if m.blind.muted {
			m.confirmed()
		}
	case held:
		l.state, l.probing, l.doubted = up, false, false
		if m.blind.muted {
			m.confirmed()
		}
	}
}

// down handles a connection that the transport lost. The loss counts as a failure only if the
// connection cannot be made again at once (MS-A30).
func (m *Machine) down(p wire.Ref) {
	if l := m.links.get(p); l != nil && l.state == up {
		m.probe(l, m.cfg.Timeout)
	}
}

// probe sends a heartbeat that the peer must answer within some time.
func (m *Machine) probe(l *link, patience time.Duration) {
	l.probing, l.due = true, m.now+patience
	m.send(l.node, m.beatMessage(wire.Echo))
}

// failed handles a send that failed.
func (m *Machine) failed(p wire.Ref, local bool) {
	l := m.links.get(p)
	switch {
	case local: // a fault of this host is no reason to suspect a node that was ever heard (MS-A1); for others see maxTries
		m.stats.LocalErrors++
		if l != nil {
			l.local = true
		}
	case l == nil:
		m.discovery.failed(p)
	case l.state == up && !l.probing:
		m.probe(l, m.cfg.Timeout)
	case l.state == up, l.state == connecting, l.state == held && l.probing:
		if l.state != held { // a held link keeps the value of quiet that it got when it first failed
			l.quiet = l.since(m) >= maxPrompt*m.cfg.Heartbeat
		}
		m.lost(l)
	}
}

// maxPrompt limits, in heartbeats, how long a peer may have been silent when its connection
// breaks. Up to that time the break shows that the peer's process died. After a longer silence,
// the transport may have closed the connection because of the silence itself (local policy).
const maxPrompt = 2

// since returns the time since this node last heard the peer. If it has never heard the peer,
// since returns the time since this node asked for the link.
func (l *link) since(m *Machine) time.Duration {
	if l.state == connecting {
		return m.now - (l.due - m.cfg.Timeout)
	}
	return m.now - l.heard
}

// maxTries is how often this node tries a link to a peer that it never heard, if each try fails for
// a reason of this host. Then the failure counts like one that is not local, because the peer may
// exist only in views, with an address that no host can reach (local policy).
const maxTries = 3

// lost handles a link that failed. A peer that never answered is suspected only if it is a
// successor (MS-33, MS-34).
func (m *Machine) lost(l *link) {
	switch {
	case l.local && l.state == connecting && (l.met || l.tries < maxTries):
		m.retry(l)
	case l.local && l.state == up:
		m.request(l)
	case m.now < m.pauses.until: // this node was paused: its knowledge of others is old (MS-A29)
		m.excuse(l)
	case l.state == connecting && l.mine&wire.Successor == 0 && !m.blind.muted:
		m.cut(l.node)
		// choose another neighbour in a while, not at once: if this node reaches no other, it is cut off
		// itself, and no peer has failed.
		m.topology.later(m)
	case !l.doubted && m.blind.note(m):
		l.state, l.probing, l.local = held, false, false
		m.topology.later(m) // open another link, which may confirm that this node is not at fault
		if m.alone() {
			m.fileHeld()
		}
	default:
		m.file(l)
	}
}

// excuse gives the peer of a link another timeout. If a request for the link failed, it is repeated after a
// back-off, because the next one may fail as quickly. But it is repeated within the timeout in any case: after
// a longer back-off, this node would suspect the member later than others do.
func (m *Machine) excuse(l *link) {
	m.stats.Excused++
	l.heard, l.probing, l.doubted = m.now, false, false
	switch l.state {
	case connecting:
		m.retry(l)
		l.due = min(l.due, m.now+m.cfg.Timeout)
	case held:
		l.state = up
	}
}

// file reports a neighbour as suspect, and then drops the link or tries it again (MS-31 to MS-35). It files no
// report if a later incarnation of the neighbour is known, or if the last report about it was too recent.
func (m *Machine) file(l *link) {
	p, heard, e := l.node, l.version, m.view.at(l.node)
	switch {
	case e.state != inView || heard.Inc != 0 && e.inc > heard.Inc: // the failure is of an incarnation that has ended (MS-A30)
		m.stats.OtherIncarnation++
	case m.filings.early(m.now, p, e.inc):
		m.stats.Withheld++
	default:
		m.suspect(p, e.version(), l.quiet)
		m.judge()
	}
	switch l = m.links.get(p); {
	case l == nil: // the peer was removed from the zone
	case l.mine&wire.Successor == 0:
		m.cut(p)
		m.topology.soon(m)
	default:
		l.mine = wire.Successor
		m.retry(l)
		m.topology.soon(m)
	}
}

// suspect files a report, which goes to all members with the next update and to monitors at
// once (MS-60).
func (m *Machine) suspect(p wire.Ref, v wire.Version, silent bool) {
	s := wire.Suspicion{Reporter: m.self, Suspect: p, Version: v}
	known := len(m.delta.suspicions) + len(m.delta.silences)
	m.processSuspicion(&s, silent)
	if len(m.delta.suspicions)+len(m.delta.silences) == known {
		return // neighbours get no new report: it was not accepted, or they know of the suspicion already
	}
	m.stats.Filed++
	m.filings.note(m, p, v.Inc)
	m.tell(Event{Kind: Suspected, Node: p, Version: v})
	m.notice(&s, silent)
	if silent {
		m.summon(p, v, reported)
	}
}

// blind detects that this node itself may be at fault: over half of its links failed within a
// heartbeat (MS-A1). This node then reports no suspicion until a link proves alive.
type blind struct {
	from   time.Duration // start of the period in which failures are counted
	links  int           // links that were up at the start of the period
	failed int
	muted  bool // this node reports no suspicion before one link proves alive
}

// note counts a failure, and reports whether this node must not report suspicions.
func (b *blind) note(m *Machine) bool {
	if b.muted {
		return true
	}
	if b.links == 0 || m.now-b.from > m.cfg.Heartbeat {
		*b = blind{from: m.now, links: max(m.links.count(up), 1)}
	}
	if b.failed++; 2*b.failed <= b.links {
		return false
	}
	b.muted = true
	m.stats.Muted++
	m.links.each(up, func(l *link) {
		if !l.probing {
			m.probe(l, m.cfg.Timeout)
		}
	})
	return true
}

// confirmed handles the first link that proves alive while this node reports no suspicion: it
// probes the held links once more.
func (m *Machine) confirmed() {
	m.blind = blind{}
	m.links.each(held, func(l *link) {
		l.doubted = true
		m.probe(l, m.cfg.Heartbeat)
	})
}

// alone reports whether no node is left that could confirm a link.
func (m *Machine) alone() bool {
	return m.links.count(held)+m.links.count(retrying) >= m.view.members-1
}

// fileHeld files suspicions of the peers of all held links.
func (m *Machine) fileHeld() {
	m.blind = blind{}
	var nodes []wire.Ref
	m.links.each(held, func(l *link) { nodes = append(nodes, l.node) })
	for _, p := range nodes {
		if l := m.links.get(p); l != nil {
			m.file(l)
		}
	}
}

func newer(a, b wire.Version) wire.Version {
	if a.Less(b) {
		return b
	}
	return a
}
