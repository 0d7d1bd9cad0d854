package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// summonses are nodes that are suspected, or were removed elsewhere. This node notifies them of
// that directly, so that they can refute it in time. Updates may take the whole grace period to
// reach a suspect, and do not reach it during a partition.
type summonses struct {
	list   []summons
	marked [reasons]bitmap // the nodes in list, by the reason
	at     time.Duration   // deadline of the first entry of the queue
}

// summons is a node that is notified. A newer version of the node ends the notification.
type summons struct {
	node    wire.Ref
	version wire.Version
	next    time.Duration // when the next notification is sent
	until   time.Duration // when the notifications end; 0: none was sent yet, or they end with the grace period
	// prolonged: the time in the field until was put off, which happens only once, see prolong.
	prolonged bool
	why       reason
}

// reason says why this node notifies another one.
type reason uint8

const (
	// reported: this node has reported the notified node as silent.
	reported reason = iota
	// doubted: enough nodes reported the suspect as silent, and its grace period has begun. Its
	// refutation may reach no node that passes it on, although this node can hear the suspect:
	// with cuts in one direction, all neighbours of the suspect may be unable to hear it.
	doubted
	// corrected: a neighbour has removed the notified node (MS-A9). When the notifications end, this
	// node removes it too.
	corrected
	reasons
)

const (
	// summonRounds is the number of rounds of updates in which the reporter of a silent node
	// notifies that node. In this time all nodes get the report, and the grace period of the
	// last of them ends.
	summonRounds = 8
	// maxSummons bounds the notifications of a round; the rest is sent in later rounds.
	maxSummons = 256
)

// summon begins to notify a node that one of its versions is suspected, or was removed.
func (m *Machine) summon(p wire.Ref, v wire.Version, why reason) {
	ss := &m.summonses
	if !ss.marked[why].set(p) {
		return
	}
	s := summons{node: p, version: v, next: m.now, why: why}
	if why == doubted { // wait a round, in which the refutation usually arrives
		s.next += m.cfg.Aggregation
	}
	ss.list = append(ss.list, s)
	ss.at = min(ss.at, s.next)
}

// summonAll sends the notifications that are due, and removes the nodes whose time is over.
func (m *Machine) summonAll() {
	ss := &m.summonses
	list := ss.list
	ss.list, ss.at = list[:0], machine.Never
	sent := 0
	var removed []summons
	for _, s := range list {
		switch {
		case m.overFor(&s):
			ss.marked[s.why].unset(s.node)
		case s.until > 0 && m.now >= s.until:
			ss.marked[s.why].unset(s.node)
			if s.why == corrected {
				removed = append(removed, s)
			}
		default:
			if m.now >= s.next {
				s.next = m.now + m.cfg.Aggregation
				if sent++; sent <= maxSummons {
					m.sendSummons(&s)
				}
			}
			if ss.at = min(ss.at, s.next); s.until > 0 {
				ss.at = min(ss.at, s.until)
			}
			ss.list = append(ss.list, s)
		}
	}
	for i := range removed {
		m.remove(removed[i].node, removed[i].version, Corrected, 0)
	}
}

// overFor reports whether a notification is over: the notified node has refuted the suspicion, or is
// gone. A doubted node may refute one suspicion and be suspected again before this function is called:
// then the notification goes on. It ends if this node has also reported the suspect as silent, because
// then the notification for the reason reported goes on instead.
func (m *Machine) overFor(s *summons) bool {
	if s.why == doubted {
		return !m.suspicions.graced(s.node) || m.summonses.marked[reported].has(s.node)
	}
	e := m.view.at(s.node)
	return e.state == unknown || s.version.Less(newer(e.version(), m.ahead[s.node].heard)) || e.state == inHistory && (s.why == corrected || e.orderly)
}

func (m *Machine) sendSummons(s *summons) {
	switch {
	case s.why == doubted: // the notifications end with the grace period
		s.version = m.view.at(s.node).version()
	case s.until > 0:
	case s.why == reported:
		s.until = m.now + summonRounds*m.cfg.Aggregation
	default:
		s.until = m.now + graceRounds*m.cfg.Aggregation
	}
	m.send(s.node, wire.Message{Kind: wire.Notice, Lists: &wire.Lists{Silences: []wire.Suspicion{{Reporter: m.self, Suspect: s.node, Version: s.version}}}})
}

// answerAccuser sends this node's version to the sender of a notice that accuses it. An update
// would carry the refutation over only one link per round. That is too slow if nodes in between
// know of no suspicion, and the sender is more links away than the grace period has rounds.
func (m *Machine) answerAccuser() {
	accuses := func(s wire.Suspicion) bool { return s.Suspect == m.self && s.Reporter == m.in.From }
	if l := m.in.Lists; l != nil && (slices.ContainsFunc(l.Silences, accuses) || slices.ContainsFunc(l.Suspicions, accuses)) {
		m.send(m.in.From, wire.Message{Kind: wire.Notice, Lists: &wire.Lists{Alive: []wire.Member{{Node: m.self, Version: m.ver}}}})
	}
}
