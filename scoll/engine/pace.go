package engine

import (
	"errors"
	"slices"

	"ulnet/scoll/wire"
)

// maxWaiting bounds the broadcasts of this node over a group that wait to be sent.
const maxWaiting = 4096

// pace is a congestion window: how many broadcasts of this node over a group are under way at a
// time, with slow start, additive increase and multiplicative decrease. It halves when a member
// has to hold a request, but only once for all broadcasts under way at that time. Before the
// first decrease it grows by one for each broadcast that no member held. After the first
// decrease it grows by one for each window of such broadcasts.
type pace struct {
	size   int // the window: how many broadcasts may be in flight; 0: firstPace
	credit int
	until  uint64 // broadcasts with sequence numbers up to this one do not halve the window again
}

// firstPace is the initial window. Members hold the requests that are too many for them.
const firstPace = 64

func (p *pace) most() int {
	if p.size == 0 {
		return firstPace
	}
	return p.size
}

// grow counts a broadcast that no member held, and enlarges the window.
func (p *pace) grow() {
	size := p.most()
	if p.credit++; p.until == 0 || p.credit >= size {
		p.size, p.credit = min(size+1, windowSize), 0
	}
}

// shrink halves the window because a member holds a broadcast, unless it has already done so
// for another broadcast of the same window. It reports whether it has halved the window. newest
// is the sequence of the latest broadcast that was sent.
func (p *pace) shrink(sequence, newest uint64) bool {
	if sequence <= p.until {
		return false
	}
	p.size, p.credit, p.until = max(p.most()/2, 1), 0, newest
	return true
}

// hasRoom reports whether one more broadcast of this node is within the window of sequences
// by which members detect duplicates.
func (g *group) hasRoom() bool { return len(g.busy) == 0 || g.sequence+1-g.busy[0] < windowSize }

// isOpen reports whether one more broadcast of this node may be sent.
func (g *group) isOpen() bool { return g.hasRoom() && len(g.busy) < g.pace.most() }

// queue sends a broadcast of this node after the broadcasts that are waiting.
func (m *Machine) queue(r *request) {
	g := r.group
	if r.header.Flags&wire.FlagLast != 0 && g.key.id.Creator.IsValid() {
		g.last = true // the group ends with this broadcast: no other one may follow
	}
	if len(g.waiting) > 0 || !g.isOpen() {
		m.stats.Waited++
		r.phase = held
		g.waiting = append(g.waiting, r)
		return
	}
	m.depart(r)
}

// depart sends a broadcast of this node. Its timeouts begin now.
func (m *Machine) depart(r *request) {
	g, h := r.group, &r.header
	g.sequence++
	g.busy = append(g.busy, g.sequence)
	h.Sequence, h.First = g.sequence, g.sequence
	r.limit = m.now + max(childTimeout(h, r.depth, h.Processing), 1)
	m.run(r)
}

// letGo sends waiting broadcasts after others have ended.
func (m *Machine) letGo() {
	for i := 0; i < len(m.opening); i++ { // no range loop: a broadcast that ends at once appends its group to m.opening
		for g := m.opening[i]; len(g.waiting) > 0 && g.isOpen(); {
			r := g.waiting[0]
			g.waiting = slices.Delete(g.waiting, 0, 1)
			if g.index < 0 || m.hasEnded(g) { // the group has ended meanwhile, and perhaps another one has the same key
				m.cancel(r, wire.ENOGROUP)
				continue
			}
			m.depart(r)
		}
	}
	clear(m.opening)
	m.opening = m.opening[:0]
}

// passed handles the end of a broadcast of this node.
func (m *Machine) passed(r *request) {
	g, h := r.group, &r.header
	g.forgetSequence(h.Sequence)
	g.forgetSequence(h.First)
	switch busy := func(e wire.Missing) bool { return errors.Is(e.Status, wire.EBUSY) }; {
	case slices.ContainsFunc(r.trailer, busy):
		m.slower(r)
	case !r.slowed && h.Sequence > 0:
		g.pace.grow()
	}
	if len(g.waiting) > 0 {
		m.opening = append(m.opening, g)
	}
}

// slower shrinks the window because a member was busy.
func (m *Machine) slower(r *request) {
	if r.slowed = true; r.group.pace.shrink(r.header.Sequence, r.group.sequence) {
		m.stats.Slowed++
	}
}

// cancel ends a broadcast of this node that was not sent yet.
func (m *Machine) cancel(r *request, s wire.Status) {
	g := r.group
	if i := slices.Index(g.waiting, r); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	r.phase, r.incoming, r.unsent = running, returned, s // returned: the root does not run the broadcast either
	for i := range r.children {
		m.fail(r, i, s)
	}
	m.gather(r)
}
