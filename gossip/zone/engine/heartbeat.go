package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// beat has the deadline of the next heartbeat. Heartbeats are sent on all links at once.
type beat struct{ at time.Duration }

// beatInterval returns the heartbeat interval, changed at random by up to a tenth. Nodes that
// start at the same time therefore do not go on sending at the same time.
func (m *Machine) beatInterval() time.Duration {
	h := m.cfg.Heartbeat
	return h - h/10 + time.Duration(m.rand(int(h/5)+1))
}

func (m *Machine) beatMessage(flags wire.Flags) wire.Message {
	return wire.Message{Kind: wire.Heartbeat, Flags: flags, Hash: m.view.hash, Tables: m.attributes.hash}
}

// heartbeat sends a heartbeat with digests of view and attributes to all neighbours (MS-30,
// MS-A9), and repeats requests that are not answered.
func (m *Machine) heartbeat() {
	m.beat.at = m.now + m.beatInterval()
	for i := range m.links.list {
		switch l := &m.links.list[i]; l.state {
		case up:
			m.send(l.node, m.beatMessage(0))
		case connecting:
			l.said = m.ver
			m.send(l.node, wire.Message{Kind: wire.LinkRequest, Roles: l.mine})
			if l.mine&wire.Successor != 0 && l.silent(m) {
				m.topology.later(m) // a successor is silent: choose neighbours again, to monitor others as well
			}
		}
	}
	if m.delta.at > m.now+m.cfg.Heartbeat { // no changes wait to be sent, so the view is at rest
		m.view.share()
	}
	m.attributes.compact(m)
	if len(m.ahead) > 0 {
		m.catchUp()
	}
	if m.twins != nil {
		m.twins.report(m)
	}
}

// beaten handles a heartbeat.
func (m *Machine) beaten(l *link) {
	switch {
	case l == nil && m.view.at(m.in.From).state == inHistory:
		m.refuseStranger(m.in.From)
		return
	case l == nil: // no link here: the answer makes a sender that wants a link request it, with its id in full
		m.answer(wire.Message{Kind: wire.LinkDrop, Reason: wire.NoLink})
		return
	case l.state == retrying: // messages of the peer arrive, so connecting is worth another attempt
		m.request(l)
		return
	case l.state == connecting:
		return
	}
	if m.in.Flags&wire.Echo != 0 {
		m.send(l.node, m.beatMessage(0))
	}
	l.same = m.in.Tables == m.attributes.hash
	if l.repair.differ(m, m.view.hash, m.in.Hash, m.in.From) {
		m.stats.Repairs++
		m.sendBase(l, wire.Repair|wire.Ask)
	}
	if l.tables.differ(m, m.attributes.hash, m.in.Tables, m.in.From) {
		m.stats.TableRepairs++
		m.attributes.greet(m, l)
	}
}

// agreement compares what both ends of a link know, by hashes (MS-A9).
type agreement struct {
	mine, theirs uint64
	since        time.Duration // when the two ends first had the present pair of different hashes
	count        int           // number of comparisons of that pair since then
	next         time.Duration // time before which no exchange of views or tables starts
	backoff      time.Duration
}

// differ reports whether the ends have to exchange everything: their hashes differ, and both
// have stayed the same for 2τ. If the exchange does not help, it is repeated with back-off.
func (a *agreement) differ(m *Machine, mine, theirs uint64, peer wire.Ref) bool {
	switch {
	case mine == theirs:
		*a = agreement{}
		return false
	case a.count == 0 || a.mine != mine || a.theirs != theirs:
		a.mine, a.theirs, a.since, a.count = mine, theirs, m.now, 1
		return false
	case m.now-a.since < 2*m.cfg.Aggregation || m.now < a.next:
		return false
	}
	// At first only the end with the lower short id asks. If that does not help, the other end
	// asks too.
	if a.count++; a.count < 4 && m.cfg.Table.Short(m.self) > m.cfg.Table.Short(peer) {
		return false
	}
	a.backoff = min(max(2*a.backoff, 2*m.cfg.Heartbeat), maxBackoff)
	a.next, a.count = m.now+a.backoff, 0
	return true
}
