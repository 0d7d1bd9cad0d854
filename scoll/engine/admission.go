package engine

import (
	"slices"

	"ulnet/lnet/nid"
)

// Bounds of the requests that have no admission slot, including those that wait for their list
// of members. One peer may have three quarters of them, all strangers together a quarter.
const (
	minHeld      = 1024    // number of requests, or four times MaxActive if that is more
	maxHeldBytes = 8 << 20 // bytes of the bodies of held requests
	maxLevels    = 64      // requests with more levels count as having this many; only chains have more
)

// admission has the admission slots, and the requests that wait for one, see hold.go.
type admission struct {
	taken  int                  // number of slots in use
	levels [maxLevels + 1]int32 // number of slots that requests of listed nodes have, by levels
	lines  []*line
	next   int  // index of the line that gets the next slot
	freed  bool // a slot became free in this step
}

// line is the held requests of one peer with the same number of levels, in order.
type line struct {
	peer   nid.NID
	levels int
	list   []*request
}

// levels returns the levels of a request's subtree, at most maxLevels.
func (r *request) levels() int { return min(r.depth, maxLevels) }

// mostHeld returns how many requests of other nodes may wait without a slot.
func (c *Config) mostHeld() int { return max(4*c.MaxActive, minHeld) }

// mayEnter reports whether one more request of a peer may wait here.
func (m *Machine) mayEnter(from nid.NID, size int) bool {
	all := share{waiting: m.incoming - m.admission.taken, body: m.shares.bodies}
	if m.isStranger(from) && !m.shares.strangers.leaves(m.cfg.mostHeld()/4, maxHeldBytes/4, size) {
		return false
	}
	most := m.cfg.mostHeld()
	return all.leaves(most, maxHeldBytes, size) && m.shares.of[from].leaves(most-most/4, maxHeldBytes*3/4, size)
}

// leaves reports whether a share has room for one more request that waits.
func (s share) leaves(requests int, bytes uint64, size int) bool {
	return s.waiting < requests && s.body+uint64(size) <= bytes
}

// mayTake reports whether there is a slot for a request.
func (m *Machine) mayTake(r *request) bool {
	most := m.cfg.MaxActive
	switch {
	case m.admission.taken >= most,
		r.stranger && m.shares.strangers.active >= max(most/4, 1),
		most >= 4 && m.shares.of[r.parent].active >= most-most/4:
		return !r.stranger && m.admission.isLowest(r.levels())
	}
	return true
}

// isLowest reports whether the given number of levels is lower than that of every request with
// a slot.
func (p *admission) isLowest(levels int) bool {
	return !slices.ContainsFunc(p.levels[:levels+1], func(n int32) bool { return n > 0 })
}

// hold makes a request wait for a slot.
func (m *Machine) hold(r *request) {
	m.stats.Held++
	r.phase = held
	p := &m.admission
	i := slices.IndexFunc(p.lines, func(l *line) bool { return l.peer == r.parent && l.levels == r.levels() })
	if i < 0 {
		i = len(p.lines)
		p.lines = append(p.lines, &line{peer: r.parent, levels: r.levels()})
	}
	p.lines[i].list = append(p.lines[i].list, r)
	if r.limit = r.came + r.header.Hold; r.header.Hold == 0 {
		r.limit = r.came + max(answerTimeout(&r.header, r.depth), 1)
	}
	m.schedule(r)
	m.tellHolding(r, true)
}

// grantSlot gives a request a slot, and calls the service for it.
func (m *Machine) grantSlot(r *request) {
	m.shares.charge(r.parent, r.stranger, share{active: 1, waiting: -1, body: -r.waits.body}, 1) // the unsigned body is negated: charge adds modulo 2^64
	r.waits = share{active: 1}
	m.admission.taken++
	if !r.stranger {
		m.admission.levels[r.levels()]++
	}
	r.hasSlot = true
	if r.waited = r.phase == held; r.waited {
		m.tellHolding(r, false)
	}
	h := &r.header
	r.spawn(r.group.spread(r.roster, h.Tree, int(h.Root), r.rank))
	m.recall(r)
	m.begin(r)
}

// freeSlot frees the slot, and other resources, of a request of another node.
func (m *Machine) freeSlot(r *request) {
	m.incoming--
	m.shares.charge(r.parent, r.stranger, r.waits, -1)
	switch {
	case r.hasSlot:
		m.admission.taken--
		m.admission.freed = true
		if !r.stranger {
			m.admission.levels[r.levels()]--
		}
	case r.phase == held:
		m.admission.remove(r)
	}
}

// remove removes a request from its line.
func (p *admission) remove(r *request) {
	i := slices.IndexFunc(p.lines, func(l *line) bool { return l.peer == r.parent && l.levels == r.levels() })
	l := p.lines[i]
	at := slices.Index(l.list, r)
	if l.list = slices.Delete(l.list, at, at+1); len(l.list) > 0 {
		return
	}
	if p.lines = slices.Delete(p.lines, i, i+1); i < p.next {
		p.next--
	}
}

// takeHeld gives free slots to the first request of each line in turn.
func (m *Machine) takeHeld() {
	p := &m.admission
	for p.freed {
		p.freed = false
		for passed := 0; passed < len(p.lines); {
			if p.next >= len(p.lines) {
				p.next = 0
			}
			l := p.lines[p.next]
			p.next++
			r := l.list[0]
			if !m.mayTake(r) {
				passed++
				continue
			}
			passed = 0
			p.remove(r)
			m.grantSlot(r)
		}
	}
}
