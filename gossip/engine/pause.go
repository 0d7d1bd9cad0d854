package engine

import "time"

// pause is the recovery of this node after a time in which it did not run while the others
// did: a stopped process, a suspended machine, a frozen VM.
//
// After a pause the node's ages are too low, and peers that merge them would take dead
// participants for live ones (GO-A7). If the node adds the missed cycles to the ages, all
// participants look dead (GO-A8). Messages that were queued during the pause look fresh
// (GO-A9).
type pause struct {
	quiet    bool   // messages are not merged at present
	until    uint64 // this node's own cycle in which quiet ends
	missed   uint64 // cycles missed since quiet was last false
	hold     uint64 // suppress health events until this node's cycle of that number, so that the first messages can arrive
	held     uint64 // this node's latest own cycle that began while health events were suppressed
	since    uint64 // this node's own cycle since when health events are suppressed
	waits    bool   // suppress health events although hold is over, see hearsLittle
	resync   bool   // suppress health events until enough messages were merged
	cycles   int    // number of this node's cycles that have begun during resync
	accepted int    // number of messages merged since the pause
}

// catchUp detects missed cycles. Each step begins with it.
func (m *Machine) catchUp(now time.Duration, out *Output) {
	missed := int64((now-m.last)/m.cfg.Interval) - 1
	if missed <= 0 {
		return
	}
	m.last += time.Duration(missed) * m.cfg.Interval
	if m.cfg.Strict {
		return
	}
	m.missed(uint64(missed), 2, out) // the cycle that is due now follows at once, and does not count as missed
}

// missed adds the missed cycles to the ages and the clock. From then on the node merges no message until as
// many further cycles have begun as the parameter quiet says. Pauses between which no message was merged
// count as one.
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

// ran returns the number of cycles since the start of this node, with those that it missed.
func (m *Machine) ran() uint64 { return m.cycle + m.stats.Missed }

// standBack makes the node merge no message until as many further cycles have begun as the parameter quiet
// says. Health events are suppressed for up to two cycles more.
func (m *Machine) standBack(quiet uint64) {
	m.clock.lost(m.cycle)
	p := &m.pause
	if !p.holds(m.cycle) {
		p.since = m.cycle
	}
	// patience bounds the suppression: a node that pauses again and again must report at last.
	p.quiet, p.until, p.hold = true, m.cycle+quiet, min(m.cycle+quiet+2, p.since+m.patience())
	p.accepted = 0
	m.rejuvenate()
	m.health.changed = true
}

// forget sets the age of every other participant to unheard, as if no message had ever brought news of it,
// and suppresses health events until enough messages were merged.
func (p *pause) forget(m *Machine) {
	m.ages.forget()
	m.rejuvenate()
	p.resync, p.cycles, p.accepted = true, 0, 0
	if m.roll.staged() {
		clear(m.roll.other.heard)
	}
}

// patience returns for how many of its cycles this node suppresses health events at most.
func (m *Machine) patience() uint64 { return uint64(m.limits.Dead + m.limits.Stealth) }

// holds reports whether health events are suppressed.
func (p *pause) holds(cycle uint64) bool { return p.resync || p.waits || cycle < p.hold }

// wakes reports whether a pause ended only a few cycles ago.
func (p *pause) wakes(m *Machine) bool {
	return m.cycle < p.hold || p.resync && p.cycles <= m.limits.Resync
}

// Unsure reports whether health events are suppressed because of a pause.
func (m *Machine) Unsure() bool { return m.pause.holds(m.cycle) }

// tick begins a cycle. It ends the resync, the time after a pause in which this node learns anew which
// others are alive, once the node has merged enough messages. A node that no other node reaches ends its
// resync after m.patience() cycles.
func (p *pause) tick(m *Machine, out *Output) {
	p.waits = (p.waits || m.cycle == p.hold) && p.hearsLittle(m)
	if p.holds(m.cycle) {
		p.held = m.cycle
	}
	if p.quiet && m.cycle >= p.until {
		p.quiet = false
	}
	if !p.resync {
		return
	}
	// Peers that have just been paused too have no useful ages. So wait until there is news of
	// all participants that were alive before the pause, and no peers with clocks ahead of this
	// node's are refused; at the latest, wait as long as the detection of a death takes.
	enough := p.cycles >= m.limits.Resync && p.accepted >= p.cycles && (p.cycles > m.limits.Dead || m.heardAll(oldest) && !m.clock.claims.ahead(m))
	if enough || m.cycle-p.since > m.patience() {
		p.resync = false
		m.tell(out, Event{Kind: Resynced, Cycles: uint64(p.cycles)})
	}
	p.cycles++
}

// hearsLittle reports whether this node must wait for more messages before it reports health: some participants would
// count as dead because of the missed cycles, and only few messages have brought news since. Messages may be lost, or
// come from peers that were paused too. The node waits for as long as the detection of a death takes at most.
func (p *pause) hearsLittle(m *Machine) bool {
	return p.accepted < m.limits.Resync && m.cycle-p.since <= uint64(m.limits.Dead) && !m.heardAll(m.limits.Dead)
}

// heardAll reports whether there is news, at most as old as the parameter limit, of each participant that was alive when
// health was last reported.
func (m *Machine) heardAll(limit int) bool {
	for i, age := range m.ages.Bytes() {
		if int(age) > limit && m.health.is(i) {
			return false
		}
	}
	return true
}

// stealth is the silence after a start: a restarted node sends nothing until all others
// have detected the death of its last incarnation (collectives design, Design Notes).
type stealth struct {
	silent bool
	most   bool // more than half of the participants have been alive at one time since the start
	cycles int
	last   uint64 // this node's last silent cycle
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

// sees ends the silence if the age of this node in a ping shows that the sender has long
// considered this node dead. The age unheard does not show that, because a node that has just
// started sends that age, too.
func (s *stealth) sees(m *Machine, age byte, out *Output) {
	if s.silent && int(age) >= m.limits.VeryOld && age <= oldest {
		s.end(m, m.cycle, out)
	}
}

func (s *stealth) end(m *Machine, last uint64, out *Output) {
	s.silent, s.last = false, last
	m.tell(out, Event{Kind: SpeaksUp, Cycles: uint64(s.cycles)})
}
