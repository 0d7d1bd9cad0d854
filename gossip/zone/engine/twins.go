package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
)

const (
	maxTwins = 16 // bound of the number of twins that wait to be reported
	// maxNamesakes bounds how many ids with the same name are compared with a member. There are more only if a
	// node sends invented ids.
	maxNamesakes = 64
)

// twinReports reports members that have the name of another member (twins). Any node that can send to this one
// can make very many twins join. Therefore up to maxTwins that join after a report are reported together, when
// a reportInterval is over, and further twins are only counted.
type twinReports struct {
	at      time.Duration // when twins may be reported again
	waiting []wire.Ref    // twins to be reported then
}

// joinedTwin reports a node that is new in the view, if it has the name of another member.
func (m *Machine) joinedTwin(p wire.Ref) {
	if !m.hasTwin(p) {
		return
	}
	m.stats.Clashes++
	if m.twins == nil {
		m.twins = new(twinReports)
	}
	t := m.twins
	if len(t.waiting) < maxTwins && !slices.Contains(t.waiting, p) {
		t.waiting = append(t.waiting, p)
	}
	t.report(m)
}

// report reports the twins that wait and still are members, if it is time.
func (t *twinReports) report(m *Machine) {
	if len(t.waiting) == 0 || m.now < t.at {
		return
	}
	for _, p := range t.waiting {
		if m.hasTwin(p) {
			t.at = m.now + reportInterval
			m.tell(Event{Kind: Clash, Node: p, Version: m.view.at(p).version()})
		}
	}
	t.waiting = t.waiting[:0]
}

// hasTwin reports whether p and another node with its name, but other endpoints, are members.
func (m *Machine) hasTwin(p wire.Ref) bool {
	if !m.view.has(p) {
		return false
	}
	ids := m.cfg.Table.ids
	for q, n := ids[p].twin, 0; q != p && n < maxNamesakes; q, n = ids[q].twin, n+1 {
		if m.view.has(q) {
			return true
		}
	}
	return false
}
