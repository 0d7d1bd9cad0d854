package engine

import "time"

// pause is what is left of a time in which this node stood still while the
// others went on: a stopped process, a suspended machine, a frozen VM.
//
// Its ages are too young then, and would bring the dead back to incarnation (GO-A7);
// with the missed cycles added everyone looks dead (GO-A8); and what has
// waited for it meanwhile looks fresh (GO-A9).
type pause struct {
	quiet    bool   // nothing is merged
	until    uint64 // own cycle in which that ends
	missed   uint64 // cycles missed since the last time that it was not
	hold     uint64 // no change of health is told before this own cycle: first hear
	since    uint64 // own cycle since when none is told
	resync   bool   // no change of health is told at all
	cycles   int    // own cycles of it that have begun
	accepted int    // messages merged meanwhile
}

// catchUp notices missed cycles. It comes before everything else in a step.
func (m *Machine) catchUp(now time.Duration, out *Output) {
	missed := int64((now-m.last)/m.cfg.Interval) - 1
	if missed <= 0 {
		return
	}
	m.last += time.Duration(missed) * m.cfg.Interval
	if m.cfg.Strict {
		return
	}
	m.missed(uint64(missed), 2, out) // the overdue cycle follows at once and does not count
}

// missed makes good for cycles that this node did not make, and merges nothing
// until quiet more of its own have begun. Pauses that follow each other too
// closely for anything to be heard between them count as one.
func (m *Machine) missed(cycles, quiet uint64, out *Output) {
	m.stats.Missed += cycles
	m.ages.ageBy(cycles)
	m.clock.value += cycles
	p := &m.pause
	if !p.quiet {
		p.missed = 0
	}
	p.missed += cycles
	m.standBack(quiet)
	if p.missed >= uint64(m.limits.Dead)/2 {
		p.forget(m)
	}
	m.tell(out, Event{Kind: Paused, Cycles: cycles})
}

// standBack merges nothing until quiet more own cycles have begun, and tells no change
// of health until some more.
func (m *Machine) standBack(quiet uint64) {
	m.clock.lost(m.cycle)
	p := &m.pause
	if !p.holds(m.cycle) {
		p.since = m.cycle
	}
	// Who stands still again and again must tell at last what it hears between.
	p.quiet, p.until, p.hold = true, m.cycle+quiet, min(m.cycle+quiet+2, p.since+m.patience())
	m.rejuvenate()
	m.health.changed = true
}

// forget marks every participant as unheard, and has health reported again only when
// enough was heard.
func (p *pause) forget(m *Machine) {
	m.ages.forget()
	m.rejuvenate()
	p.resync, p.cycles, p.accepted = true, 0, 0
}

// patience is for how many own cycles changes of health are kept back at most.
func (m *Machine) patience() uint64 { return uint64(m.limits.Dead + m.limits.Stealth) }

// holds reports whether changes of health are kept back.
func (p *pause) holds(cycle uint64) bool { return p.resync || cycle < p.hold }

// wakes reports whether a pause ended only a few cycles ago.
func (p *pause) wakes(m *Machine) bool {
	return m.cycle < p.hold || p.resync && p.cycles <= m.limits.Resync
}

// Unsure reports whether changes of health are kept back because of a pause.
func (m *Machine) Unsure() bool { return m.pause.holds(m.cycle) }

// tick begins a cycle. Resync ends when enough was heard, or, for who hears
// nobody any more, after a while.
func (p *pause) tick(m *Machine, out *Output) {
	if p.quiet && m.cycle >= p.until {
		p.quiet = false
	}
	if !p.resync {
		return
	}
	// Others that have just woken as well know nobody: enough is when all are heard of that
	// were alive, or those that are not have had time.
	enough := p.cycles >= m.limits.Resync && p.accepted >= p.cycles && (p.cycles > m.limits.Dead || m.heardAll())
	if enough || m.cycle-p.since > m.patience() {
		p.resync = false
		m.tell(out, Event{Kind: Resynced, Cycles: uint64(p.cycles)})
	}
	p.cycles++
}

// heardAll reports whether there is news of each participant that was alive when health was
// last reported.
func (m *Machine) heardAll() bool {
	for i, age := range m.ages.Bytes() {
		if age == unheard && m.health.is(i) {
			return false
		}
	}
	return true
}

// stealth is the silence after a start: a node that was restarted quickly
// keeps quiet until all others have noticed its death (collectives design, Design
// Notes).
type stealth struct {
	silent bool
	cycles int
	last   uint64 // own cycle that was the last silent one
}

// tick begins a cycle and reports whether it is a silent one.
func (s *stealth) tick(m *Machine, out *Output) bool {
	if s.silent {
		s.cycles++
		if s.cycles > m.limits.Stealth {
			s.end(m, m.cycle-1, out)
		}
	}
	return s.silent
}

// sees ends the silence if a ping shows that we are long dead. An age of
// unheard proves nothing: a node that knows nobody sends it, too.
func (s *stealth) sees(m *Machine, age byte, out *Output) {
	if s.silent && int(age) >= m.limits.VeryOld && age <= oldest {
		s.end(m, m.cycle, out)
	}
}

func (s *stealth) end(m *Machine, last uint64, out *Output) {
	s.silent, s.last = false, last
	m.tell(out, Event{Kind: SpeaksUp, Cycles: uint64(s.cycles)})
}
