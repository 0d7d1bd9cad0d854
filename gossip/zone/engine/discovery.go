package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// discovery finds nodes: at first it asks the bootstrap nodes, later nodes that have left
// (membership design, Discovery).
type discovery struct {
	at       time.Duration
	interval time.Duration
	asked    []question
	healing  []wire.Ref // nodes to ask at once: the other side of a partition (MS-A7)
	toHeal   bitmap     // the nodes in healing, as a set
}

type question struct {
	node    wire.Ref
	until   time.Duration
	healing bool
}

const (
	maxQuestions       = 8
	minDiscoveryCap    = 10 * time.Second
	discoveryPerMember = 100 * time.Millisecond
)

// begin sends a discovery request to every bootstrap node.
func (d *discovery) begin(m *Machine) {
	d.interval, d.at = m.cfg.Retry, machine.Never
	if len(m.bootstrap) == 0 {
		return
	}
	d.at = m.now + d.interval
	for _, i := range m.permutation(len(m.bootstrap)) {
		if len(d.asked) < maxQuestions {
			m.ask(m.bootstrap[i], 0)
		}
	}
}

// permutation returns the numbers below n in random order.
func (m *Machine) permutation(n int) []int {
	list := make([]int, n)
	for i := range list {
		j := m.rand(i + 1)
		list[i] = list[j]
		list[j] = i
	}
	return list
}

// arm schedules the next discovery request if none is scheduled. It is called when there is again a
// node that discovery can ask.
func (d *discovery) arm(m *Machine) {
	if d.at == machine.Never {
		d.at = m.now + d.interval
	}
}

// discover asks a random target, at longer and longer intervals (MS-23).
func (m *Machine) discover() {
	d := &m.discovery
	d.expire(m.now)
	m.heal()
	d.interval = min(2*d.interval, max(minDiscoveryCap, time.Duration(m.view.members)*discoveryPerMember))
	// Jitter: nodes that lost the same members began to ask at the same time.
	d.at = m.now + d.interval*3/4 + time.Duration(m.rand(int(d.interval/2)+1))
	if len(d.healing) > 0 {
		d.at = m.now + m.cfg.Retry
	}
	p := m.target()
	switch {
	case p != 0 && len(d.asked) < maxQuestions:
		m.ask(p, 0)
	case p == 0 && len(d.asked) == 0:
		d.at = machine.Never // no request is sent before arm is called
	}
}

// target draws a node to ask: a bootstrap node that is not in the view, or a node of the
// history that did not say goodbye ((B \ View) ∪ H, MS-16, MS-A8). It returns 0 if there is
// none.
func (m *Machine) target() wire.Ref {
	var missing []wire.Ref
	for _, p := range m.bootstrap {
		// This bootstrap node is not in the view. Those in the history that did not say goodbye are added below.
		if e := m.view.at(p); e.state == unknown || e.state == inHistory && e.orderly {
			missing = append(missing, p)
		}
	}
	for _, d := range m.history.list {
		if m.history.current(d) && m.wanted(d.ref) {
			missing = append(missing, d.ref)
		}
	}
	if len(missing) == 0 {
		return 0
	}
	return missing[m.rand(len(missing))]
}

// wanted reports whether discovery should ask a node of the history.
func (m *Machine) wanted(p wire.Ref) bool {
	e := m.view.at(p)
	return e.state == inHistory && !e.orderly && m.cfg.Table.ID(p).IsValid()
}

// ask sends a discovery request. The request has the flag Healing if its target is in this node's
// history (boot is false in MS-17).
func (m *Machine) ask(p wire.Ref, flags wire.Flags) {
	d := &m.discovery
	healing := m.view.at(p).state == inHistory
	d.asked = append(d.asked, question{p, m.now + m.cfg.Heartbeat, healing})
	if healing {
		flags |= wire.Healing
	}
	m.send(p, wire.Message{Kind: wire.DiscoveryRequest, Flags: flags})
}

// expire gives up requests that were not answered in time.
func (d *discovery) expire(now time.Duration) {
	d.asked = slices.DeleteFunc(d.asked, func(q question) bool { return now >= q.until })
}

// failed gives up the discovery request to a node.
func (d *discovery) failed(p wire.Ref) {
	d.asked = slices.DeleteFunc(d.asked, func(q question) bool { return q.node == p })
}

// asked answers a request with the whole view (MS-18).
func (m *Machine) asked() {
	p, healing := m.in.From, m.in.Flags&wire.Healing
	if healing != 0 {
		m.bump() // raise this node's version, so that the sender adds this node again (MS-19)
	}
	m.processAlive(p, m.in.Version)
	if !m.view.has(p) {
		m.refuseStranger(p)
	}
	if m.in.Flags&wire.Brief != 0 {
		m.send(p, wire.Message{Kind: wire.DiscoveryReply, Flags: healing | wire.Brief, Lists: &wire.Lists{Alive: []wire.Member{{Node: m.self, Version: m.ver}}}})
		return
	}
	m.sendView(p, healing)
}

func (m *Machine) sendView(p wire.Ref, flags wire.Flags) {
	m.send(p, wire.Message{Kind: wire.DiscoveryReply, Flags: flags, Lists: &wire.Lists{View: m.view.snapshot()}})
}

// told handles the answer to a request. After a partition each side has removed the other. Both
// nodes then raise their versions, and this node at once asks the nodes that it still considers
// removed (MS-20, MS-A7). It asks each of these only whether it is alive, and does not exchange
// views with it: by then one node of each side has the view of the other side, and if every
// pair exchanged views, a zone of n nodes would send n² of them.
func (m *Machine) told() {
	p, healing := m.in.From, m.in.Flags&wire.Healing != 0
	var held func(wire.Ref)
	if healing {
		held = m.healLater
		if m.in.Flags&(wire.Third|wire.Later) == 0 {
			m.bump()
		}
	}
	if p != 0 {
		m.processAlive(p, m.in.Version)
	}
	m.learn(&m.in, held)
	if m.in.Flags&wire.More != 0 {
		return
	}
	m.discovery.failed(p) // the request is not open any more, since the peer has answered it
	if healing && m.in.Flags&(wire.Third|wire.Brief) == 0 {
		m.sendView(p, wire.Healing|wire.Third)
	}
	m.heal()
}

// healLater queues a node that this side of a partition has removed and the other side lists as a
// member. [Machine.heal] later sends it a discovery request, to learn whether it is alive.
func (m *Machine) healLater(p wire.Ref) {
	d := &m.discovery
	if !d.toHeal.set(p) {
		return
	}
	if len(d.healing) == 0 {
		d.interval = m.cfg.Retry
		d.at = min(d.at, m.now+d.interval)
	}
	d.healing = append(d.healing, p)
	// In random order: other nodes may heal the same partition, and this node sends no request
	// to nodes that they have brought back meanwhile.
	i, last := m.rand(len(d.healing)), len(d.healing)-1
	d.healing[i], d.healing[last] = d.healing[last], d.healing[i]
}

// heal asks the nodes of the other side that are not back yet.
func (m *Machine) heal() {
	d := &m.discovery
	for len(d.healing) > 0 && len(d.asked) < maxQuestions {
		p := d.healing[0]
		d.healing = d.healing[1:]
		d.toHeal.unset(p)
		isAsked := slices.ContainsFunc(d.asked, func(q question) bool { return q.node == p })
		if m.wanted(p) && !isAsked {
			m.ask(p, wire.Brief)
		}
	}
	if len(d.healing) == 0 {
		d.healing = nil
	}
}

func (d *discovery) marks(keep *bitmap) {
	for _, q := range d.asked {
		keep.set(q.node)
	}
	for _, p := range d.healing {
		keep.set(p)
	}
}
