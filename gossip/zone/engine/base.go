package engine

import (
	"slices"

	"ulnet/gossip/zone/wire"
)

// maxGoodbyes bounds the number of goodbyes that a repair repeats.
const maxGoodbyes = 64

// sendBase sends the whole view, all suspicions and the goodbyes that wait (MS-53). For a repair it adds the
// history and the latest goodbyes, since the history does not contain their exit codes.
func (m *Machine) sendBase(l *link, flags wire.Flags) {
	failures, silences := m.suspicions.all()
	lists := &wire.Lists{View: m.view.snapshot(), Suspicions: failures, Silences: silences}
	if flags&wire.Repair != 0 {
		lists.Leaves = m.goodbyes()
	}
	for _, g := range m.relayed.all() {
		lists.Leaves = append(lists.Leaves, g.Departure)
	}
	m.send(l.node, wire.Message{Kind: wire.Base, Flags: flags, Lists: lists})
}

// goodbyes returns the goodbyes of nodes that have not come back, the latest first.
func (m *Machine) goodbyes() []wire.Departure {
	var list []wire.Departure
	for _, d := range slices.Backward(m.history.list) {
		e := m.view.at(d.ref)
		if !e.orderly || !m.history.current(d) || !m.cfg.Table.ID(d.ref).IsValid() {
			continue
		}
		list = append(list, wire.Departure{Node: d.ref, Version: e.version(), Code: m.history.of[d.ref].code})
		if len(list) == maxGoodbyes {
			break
		}
	}
	return list
}

// learn processes the news of nodes in a message: goodbyes, then live nodes, then suspicions.
// This order avoids needless notifications (MS-57). It processes removals by other nodes before
// the live nodes, because the removals are older (MS-A9).
func (m *Machine) learn(msg *wire.Message, held func(wire.Ref)) {
	l := msg.Lists
	if l == nil {
		return
	}
	for i := range l.Leaves {
		m.processLeave(&l.Leaves[i])
	}
	if msg.Flags&wire.Repair != 0 {
		m.correct(l)
	}
	for i := range l.Alive {
		m.alive(l.Alive[i].Node, l.Alive[i].Version, held)
	}
	if l.View != nil {
		m.merge(l.View.(*snapshot), held)
	}
	m.accusations(l.Suspicions, false)
	m.accusations(l.Silences, true)
}

// accusations processes suspicions that other nodes report. It skips those whose reporter is
// this node itself, because they are echoes.
func (m *Machine) accusations(list []wire.Suspicion, silent bool) {
	for i := range list {
		if s := &list[i]; s.Reporter != m.self { // a report of this node itself is an echo, and is skipped
			m.processSuspicion(s, silent)
		}
	}
}

// alive handles news that node p is alive in version v (processAlive). If this node's history says
// that p left in that version or a newer one, alive first calls the function held, which may be nil.
func (m *Machine) alive(p wire.Ref, v wire.Version, held func(wire.Ref)) {
	if held != nil {
		if e := m.view.at(p); e.state == inHistory && !e.version().Less(v) {
			held(p)
		}
	}
	m.processAlive(p, v)
}

// merge adds the members of a snapshot to this node's view. It skips pages that the snapshot and the
// view share, because their entries are equal.
func (m *Machine) merge(s *snapshot, held func(wire.Ref)) {
	for i, p := range s.pages {
		if p == nil || p == m.view.pageAt(i) {
			continue
		}
		for j := range p.entries {
			if e := &p.entries[j]; e.state == inView {
				m.alive(wire.Ref(i*pageSize+j), e.version(), held)
			}
		}
	}
	m.view.adopt(s)
}

// correct handles members that a neighbour removed earlier (MS-A9: the list R, in code Lists.Removed). They
// get time to refute the removal, because the neighbour may have been on the other side of a partition that
// has ended. Those that do not refute it are removed by this node, too. The list does not say why a member
// was removed, so no node learns of a goodbye from it (MS-A33).
func (m *Machine) correct(l *wire.Lists) {
	each := func(p wire.Ref, v wire.Version) {
		switch e := m.view.at(p); {
		case p == m.self:
			m.accused(v)
		case e.state == inView && !v.Less(e.version()) && m.plausible(v) && !m.overtaken(p, v):
			if g, waits := m.relayed.waits(p); !waits || g.Version.Less(v) {
				m.summon(p, v, corrected)
			}
		}
	}
	for i := range l.Removed {
		each(l.Removed[i].Node, l.Removed[i].Version)
	}
	if l.View != nil {
		l.View.Each(true, each)
	}
}
