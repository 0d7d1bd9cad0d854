package engine

import (
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// agreement is what is known of the parameters of others.
type agreement struct {
	verified  bool  // somebody had the same
	bad       noted // participants that had others
	strangers noted // the same of nodes that are not in the list
	// unsigned are participants that were told of because a message was not signed with our
	// keys: whether the latest was so, too.
	unsigned    map[nid.NID]bool
	ride        uint64  // our messages carry parameters until this own cycle
	toOthers    answers // to participants that had others
	toStrangers answers
	clockTold   uint64 // own cycle before which no other clock is told to be impossible
}

// noted are nodes of which something was told.
type noted map[nid.NID]struct{}

// add notes a node, and reports whether that is new; so many are noted at most.
func (n *noted) add(id nid.NID, most int) bool {
	if _, known := (*n)[id]; known || len(*n) >= most {
		return false
	}
	if *n == nil {
		*n = make(noted)
	}
	(*n)[id] = struct{}{}
	return true
}

// answers count those in an own cycle that had our parameters.
type answers struct {
	cycle uint64
	count int
}

// Bounds of what peers with other parameters can make us do.
const (
	maxBad       = 1024 // remembered and told of
	maxStrangers = 64   // of those that are not in the list
	maxAnswers   = 8    // in a cycle
)

// agreed compares the parameters of a message, as far as it carries them, with
// ours (gossip design, Initialization).
func (m *Machine) agreed(msg *incoming, out *Output) bool {
	if msg.index < 0 && m.roll.index(msg.from) < 0 {
		return m.stranger(msg, out)
	}
	if msg.Flags&wire.FlagStaged != 0 {
		m.params.changeHeard(m)
	}
	m.roll.note(m, msg)
	list := m.spoken(msg)
	if list == nil && m.awaited(msg) {
		m.stats.Disagreements++
		m.params.verified = true
		return false
	}
	if list == nil || msg.Flags&wire.FlagParams != 0 && msg.Interval != m.cfg.Interval {
		m.stats.Disagreements++
		m.disagree(msg, out)
		return false
	}
	if msg.Flags&wire.FlagParams != 0 {
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
	return msg.Flags&wire.FlagStaged != 0 && msg.Staged == m.list.Digest() &&
		(msg.Flags&wire.FlagParams == 0 || msg.Interval == m.cfg.Interval)
}

// stranger drops a message of a node that is not a participant. If it takes itself
// for one with other parameters, it is told ours, unless it has staged a list that
// is ours and without it. Nothing else comes of it: strangers stop nobody, not even
// strictly.
func (m *Machine) stranger(msg *incoming, out *Output) bool {
	m.stats.Strangers++
	if msg.Flags&wire.FlagParams != 0 && !m.awaited(msg) && (msg.Interval != m.cfg.Interval || msg.Digest != m.list.Digest()) {
		m.stats.Disagreements++
		if m.params.strangers.add(msg.from, maxStrangers) {
			m.tell(out, Event{Kind: Disagreed, NID: msg.from})
		}
		m.tellParams(msg, &m.params.toStrangers, out)
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
	if a.bad.add(msg.from, maxBad) {
		m.tell(out, Event{Kind: Disagreed, NID: msg.from})
	}
	if m.cfg.Strict || !a.verified && len(a.bad) >= min(2, m.list.Len()-1) {
		m.stop(Event{Kind: Stopped, NID: msg.from}, out)
		return
	}
	m.tellParams(msg, &a.toOthers, out)
}

// tellParams answers a ping that carries parameters with ours, without clock
// and ages, so that a node that is wrong learns of it.
func (m *Machine) tellParams(msg *incoming, a *answers, out *Output) {
	if a.cycle != m.cycle {
		*a = answers{cycle: m.cycle}
	}
	if !msg.ping || msg.Flags&wire.FlagParams == 0 || m.stealth.silent || a.count >= maxAnswers {
		return
	}
	a.count++
	h := wire.Header{Flags: wire.FlagParams | m.signedFlag(), N: uint32(m.list.Len()), Interval: m.cfg.Interval, Digest: m.list.Digest()}
	from := len(out.Buf)
	out.Buf = h.AppendTo(out.Buf)
	m.send(msg, from, out)
}
