package zonesim

import (
	"fmt"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// Outcome is what nodes have reported so far, compared with the ground truth.
type Outcome struct {
	Joins    uint64 // number of events that say that a node joined
	Leaves   uint64 // number of events that say that a node left, for any cause
	Removals uint64 // number of removals because of suspicions
	False    uint64 // number of removals of nodes that were fine
	Refuted  uint64 // number of suspicions that were refuted
	Wrong    string // description of the first false removal

	Unheard string // the first event that contradicts earlier ones
	Broken  string // the first violated invariant of a machine

	Detected kit.Delays // time from the end of a node to each removal of the node
	Alerted  kit.Delays // time from the end of a node until a monitor was notified that enough nodes suspect it, or that it was removed
}

// Outcome returns what nodes have reported so far, compared with the ground truth.
func (n *Net) Outcome() Outcome { return n.outcome }

// told compares an event with the ground truth.
func (n *Net) told(p *member, e *engine.Event) {
	if n.cfg.Tell != nil {
		n.cfg.Tell(n.Now(), p.id, e)
	}
	if n.cfg.Check {
		p.heard.hear(e)
	}
	switch v := &n.outcome; e.Kind {
	case engine.Joined:
		v.Joins++
	case engine.Refuted:
		n.incs[p.id] = max(n.incs[p.id], e.Version.Inc)
		v.Refuted++
	case engine.Doubted:
		n.noticed(p, e)
	case engine.Left:
		v.Leaves++
		n.noticed(p, e)
		switch e.Cause {
		case engine.Dead, engine.Corrected:
			v.Removals++
			n.removed(p, e)
		case engine.Said:
			n.removed(p, e)
		}
	}
}

// removed compares the removal of a node with the ground truth. The removal is right if the removed
// incarnation has ended or said goodbye. Incarnations above the present one are forged, so their removal is
// wrong. No fault excuses news of a goodbye that the node did not say.
func (n *Net) removed(p *member, e *engine.Event) {
	i := p.about(e)
	if i < 0 || p.group.base > 0 {
		return
	}
	id, now, v := p.group.first+sim.NodeID(i), n.Now(), &n.outcome
	f := &n.faults.nodes[id]
	switch {
	case e.Cause != engine.Said && !n.Up(id) && f.ended != never && n.incs[id] == e.Version.Inc:
		v.Detected.Add(now - f.ended)
	case e.Version.Inc <= f.over:
	case e.Cause != engine.Said && e.Version.Inc <= n.incs[id] && n.faults.excused(p.id, id, n.taking(p.group.nodes)):
	default:
		if v.False++; v.Wrong == "" {
			v.Wrong = fmt.Sprintf("at %v node %v removed node %v %v (%v), which is fine since %v", now, p.id, id, e.Version, e.Cause, f.fine)
		}
	}
}

// noticed records when a monitor is first notified of a node that is down.
func (n *Net) noticed(p *member, e *engine.Event) {
	i := p.about(e)
	if i < 0 || p.group.base > 0 || !n.faults.nodes[p.id].monitor {
		return
	}
	id, v := p.group.first+sim.NodeID(i), &n.outcome
	f := &n.faults.nodes[id]
	if n.Up(id) || f.ended == never || f.left || n.incs[id] != e.Version.Inc || p.missed[id] == e.Version.Inc {
		return
	}
	if p.missed == nil {
		p.missed = make(map[sim.NodeID]uint64)
	}
	p.missed[id] = e.Version.Inc
	v.Alerted.Add(n.Now() - f.ended)
}

// listener applies a node's events to a list of members. Joined and Left must alternate for
// each member, and the list must equal the node's view (MS-9, MS-10).
type listener struct {
	p      *member
	incs   []uint64 // incarnation of each member; 0: it is not in the list
	count  int
	change bool
}

func (l *listener) init(p *member) {
	l.p, l.incs = p, make([]uint64, len(p.group.ids))
	l.incs[p.self()], l.count = p.net.incs[p.id]+1, 1
}

func (l *listener) hear(e *engine.Event) {
	if e.Kind != engine.Joined && e.Kind != engine.Left && e.Kind != engine.Refuted {
		return
	}
	i := l.p.about(e)
	if i < 0 {
		return
	}
	was := l.incs[i]
	l.change = true
	switch {
	case e.Kind == engine.Refuted:
		l.incs[i] = e.Version.Inc
	case e.Kind == engine.Joined && was == 0:
		l.incs[i] = e.Version.Inc
		l.count++
	case e.Kind == engine.Left && was == e.Version.Inc:
		l.incs[i] = 0
		l.count--
	default:
		l.wrong("was told that %v %v %v, which is there as %d", e.ID.Name(), e.Version, e.Kind, was)
	}
}

// smallZone is the size up to which the machines of a zone are examined after every step.
const smallZone = 64

// examine compares the list from events with the view, and makes the machine check its
// invariants. In a large zone it does so after steps that changed the view, and from time to
// time.
func (p *program) examine() {
	m, l := p.m, &p.heard
	if !l.change && p.steps%64 != 0 && len(l.incs) > smallZone {
		return
	}
	l.change = false
	l.compare(m.Status().State, m.Len())
	if err := m.Check(); err != nil && p.net.outcome.Broken == "" {
		p.net.outcome.Broken = fmt.Sprintf("at %v node %v: %v", p.net.Now(), p.id, err)
	}
}

// compare compares the list from events with a view of the given number of members.
func (l *listener) compare(state string, members int) {
	if state == "joined" && members != l.count {
		l.wrong("has %d members, and was told of %d", members, l.count)
	}
}

func (l *listener) wrong(format string, args ...any) {
	if v := &l.p.net.outcome; v.Unheard == "" {
		v.Unheard = fmt.Sprintf("at %v node %v %s", l.p.net.Now(), l.p.id, fmt.Sprintf(format, args...))
	}
}
