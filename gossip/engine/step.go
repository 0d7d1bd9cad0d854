package engine

// A peer is in step with this node if their clocks differ by no more than the limit for obsolete
// messages. This node is in sync if two peers, or the only other participant, were in step lately. A
// message may be forged, or come from a node whose memory is bad. Therefore one of several peers does
// not make a node in sync accept a clock that is out of step (local policy; the gossip design accepts
// any clock that is ahead). The table says how many peers must claim the clock, by the state of this
// node:
//
//	in sync with others, N > 2  two peers that agree, if no peer is in step any more
//	                            (this node was paused), or if the two go on claiming
//	                            it for a while (parts of a cluster come together)
//	not in sync                 more peers than contradict them; or one, if this node
//	                            has not been in sync for a time
//	behind ours, not in sync    two peers or more that agree, go on for a while, and
//	                            are the majority of those heard: our own clock is wrong
//	any state, maxClock         no number of peers: a clock of maxClock or more is never
//	                            accepted, and a clock that comes there begins anew
//
// Messages whose clocks are in step move the clock of a node in sync by at most 8 units per cycle on
// average.

// others is how many other participants there are.
func (m *Machine) others() int { return m.list.Len() - 1 }

// inSync reports whether this node's clock agrees with those of others.
func (m *Machine) inSync() bool { return m.clock.inSync(m.cycle, m.limits.Dead, m.others()) }

// leap is by how much a clock may be ahead of this node's and still count as in step. With
// Strict it is so high that it has no effect: the design has no such limit, and its limit for
// obsolete messages is too small for this use.
func (m *Machine) leap() uint64 {
	if m.cfg.Strict {
		return maxJump
	}
	return uint64(m.limits.Obsolete)
}

// tolerance is how far apart two peers' clocks may be and still count as the same clock. It
// allows for the cycles that passed between the messages of the two peers.
func (m *Machine) tolerance() uint64 { return uint64(m.limits.Obsolete + fastest*m.limits.Dead) }

// clockFits reports whether the clock of a message is accepted, because it is in step, or far ahead and
// that of the cluster (see ahead). This node's clock then advances to it, as far as sync allows.
// Otherwise the message is dropped, and a ping is answered with this node's clock.
func (m *Machine) clockFits(msg *incoming, out *Output) bool {
	c := &m.clock
	switch {
	case msg.Clock >= maxClock:
		m.claim(msg)
		m.refuseClock(msg, out)
		return false
	case msg.Clock+uint64(m.limits.Obsolete) < c.value:
		m.stats.Obsolete++
		m.behind(msg, out)
		m.emptyReply(msg, out)
		return false
	case msg.Clock > c.value+m.leap():
		return m.ahead(msg, out)
	}
	limited := m.others() > 1 && !m.cfg.Strict && m.inSync()
	if msg.index >= 0 {
		c.note(msg.index, m.cycle)
	}
	c.ahead = 0
	c.claims.remove(msg.from)
	c.sync(msg.Clock, limited)
	return true
}

// claim notes the clock of a message that is out of step. It returns how many peers have claimed the
// same clock lately, and how many another one.
func (m *Machine) claim(msg *incoming) vote {
	n := claim{from: msg.from, clock: msg.Clock, first: m.cycle, last: m.cycle}
	m.clock.claims.add(n, m.limits.Dead, m.tolerance())
	return m.clock.claims.vote(msg.Clock, m.cycle, m.limits.Dead, m.tolerance())
}

// goesOn reports whether peers have claimed the same clock for so long that it cannot come from
// a burst of delayed or forged messages.
func (m *Machine) goesOn(v vote) bool { return m.cycle-v.first >= uint64(m.limits.Resync) }

// ahead reports whether to accept a clock that is far ahead of this node's. If this node was in sync
// and accepts the clock, it concludes that it was paused.
func (m *Machine) ahead(msg *incoming, out *Output) bool {
	c, inSync := &m.clock, m.inSync()
	if c.ahead == 0 {
		c.ahead = m.cycle
	}
	if !m.believes(msg, m.claim(msg), inSync) {
		m.refuseClock(msg, out)
		return false
	}
	if inSync && !m.cfg.Strict {
		m.stats.Behind++
		m.missed((msg.Clock-c.value)/clockRate, 1, out)
	}
	c.sync(msg.Clock, false)
	return true
}

// believes reports whether a clock that is far ahead of this node's is accepted as that of the cluster.
func (m *Machine) believes(msg *incoming, v vote, inSync bool) bool {
	c := &m.clock
	switch {
	case m.others() == 1:
		return !inSync || msg.Clock <= c.value+maxJump
	case inSync:
		return v.agree >= 2 && (m.cycle >= c.ahead+2 || m.goesOn(v))
	}
	return v.agree > v.differ+c.inStep(m.cycle, m.limits.Dead) || m.cycle-c.since > uint64(m.limits.Dead)
}

// behind handles the clock of an obsolete message. If the majority of the peers that this node hears
// claims the same old clock for a while, this node's clock is wrong, and is set to theirs.
func (m *Machine) behind(msg *incoming, out *Output) {
	v := m.claim(msg)
	if m.inSync() || v.agree < 2 || v.agree <= v.differ+m.clock.inStep(m.cycle, m.limits.Dead) || !m.goesOn(v) {
		return
	}
	m.realign(v.highest, out)
}

// realign sets the clock, and suppresses health events until messages of other nodes have
// arrived.
func (m *Machine) realign(clock uint64, out *Output) {
	m.stats.Realigned++
	m.clock.value = clock
	m.standBack(2)
	m.pause.forget(m)
	m.tell(out, Event{Kind: Realigned})
}

// refuseClock drops a message with an impossible clock. The answer has this node's clock, so
// that a sender that is out of step learns of it. A node that was paused does not report a peer
// whose clock is ahead: that clock may be right, and the node's own behind.
func (m *Machine) refuseClock(msg *incoming, out *Output) {
	m.stats.BadClock++
	if m.cycle >= m.params.clockTold && (msg.Clock >= maxClock || !m.Unsure()) {
		m.params.clockTold = m.cycle + uint64(m.limits.Dead)
		m.tell(out, Event{Kind: ClockRefused, NID: msg.from})
	}
	m.emptyReply(msg, out)
}
