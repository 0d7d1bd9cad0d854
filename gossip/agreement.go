package gossip

import "ulnet/lnet/nid"

// agreement is what is known of the parameters of others.
type agreement struct {
	verified bool                 // somebody had the same
	bad      map[nid.NID]struct{} // who had others, at most maxBad
	ride     uint64               // our messages carry parameters until this own cycle
	answered uint64               // own cycle in which
	answers  int                  // so many of these were told ours
}

// Bounds of what peers with other parameters can make us do.
const (
	maxBad     = 1024 // remembered and told of
	maxAnswers = 8    // in a cycle
)

// agreed compares the parameters of a message, as far as it carries them, with
// ours (seed 003, Initialization).
func (m *Machine) agreed(msg *incoming, out *Output) bool {
	if msg.index < 0 && m.roll.index(msg.from) < 0 {
		return m.stranger(msg, out)
	}
	if msg.Flags&FlagStaged != 0 {
		m.params.changeHeard(m)
	}
	m.roll.note(m, msg)
	list := m.spoken(msg)
	if list == nil && m.awaited(msg) {
		m.stats.Disagreements++
		m.params.verified = true
		return false
	}
	if list == nil || msg.Flags&FlagParams != 0 && msg.Interval != m.cfg.Interval {
		m.stats.Disagreements++
		m.disagree(msg, out)
		return false
	}
	if msg.Flags&FlagParams != 0 {
		m.params.verified = true
	}
	if list != m.list {
		msg.foreign = m.roll.other
		m.roll.since = m.cycle
	}
	return true
}

// awaited reports whether a message in a list that we do not know is of one who
// has staged ours: we were started with it while the others change to it. They
// understand what we say, and we them as soon as they answer that or commit.
func (m *Machine) awaited(msg *incoming) bool {
	return msg.Flags&FlagStaged != 0 && msg.Staged == m.list.Digest() &&
		(msg.Flags&FlagParams == 0 || msg.Interval == m.cfg.Interval)
}

// stranger drops a message of who is not a participant. If it says that it is
// one with other parameters, that is a disagreement, unless it has staged a
// list that is ours and without it.
func (m *Machine) stranger(msg *incoming, out *Output) bool {
	m.stats.Strangers++
	if msg.Flags&FlagParams != 0 && !m.awaited(msg) && (msg.Interval != m.cfg.Interval || msg.Digest != m.list.Digest()) {
		m.stats.Disagreements++
		m.disagree(msg, out)
	}
	return false
}

// changeHeard notes that others know another list: our messages say for a
// while which one they speak of.
func (a *agreement) changeHeard(m *Machine) { a.ride = m.cycle + uint64(m.limits.Dead) }

// disagree handles a message with other parameters. Nothing of it is merged.
// Strictly, whoever hears of a disagreement stops. Otherwise only who never
// met anybody with the same parameters does, and not because of one: the
// first one met may be the one that is wrong (GO-A5).
func (m *Machine) disagree(msg *incoming, out *Output) {
	a := &m.params
	a.changeHeard(m)
	if _, known := a.bad[msg.from]; !known && len(a.bad) < maxBad {
		if a.bad == nil {
			a.bad = make(map[nid.NID]struct{})
		}
		a.bad[msg.from] = struct{}{}
		m.tell(out, Event{Kind: Disagreed, NID: msg.from})
	}
	if m.cfg.Strict || !a.verified && len(a.bad) >= min(2, m.list.Len()-1) {
		m.stop(Event{Kind: Stopped, NID: msg.from}, out)
		return
	}
	m.tellParams(msg, out)
}

// tellParams answers a ping that carries parameters with ours, without clock
// and ages, so that a node that is wrong learns of it.
func (m *Machine) tellParams(msg *incoming, out *Output) {
	a := &m.params
	if a.answered != m.cycle {
		a.answered, a.answers = m.cycle, 0
	}
	if !msg.ping || msg.Flags&FlagParams == 0 || m.stealth.silent || a.answers >= maxAnswers {
		return
	}
	a.answers++
	h := Header{Flags: FlagParams, N: uint32(m.list.Len()), Interval: m.cfg.Interval, Digest: m.list.Digest()}
	from := len(out.Buf)
	out.Buf = h.AppendBinary(out.Buf)
	m.send(msg, from, out)
}
