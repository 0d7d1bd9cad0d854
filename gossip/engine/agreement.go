package engine

import (
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// agreement is what a node knows of the parameters of others.
type agreement struct {
	verified  bool  // a participant had the same parameters
	bad       noted // participants that had other parameters
	strangers noted // nodes outside the list that had other parameters
	// unsigned has the participants that a NotSigned event reported; true: their latest
	// message was not signed with our keys either.
	unsigned    map[nid.NID]bool
	ride        uint64  // our messages carry parameters until this own cycle
	toOthers    answers // to participants that had other parameters
	toStrangers answers
	clockTold   uint64 // own cycle before which no other ClockRefused event is sent
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

// awaited reports whether a message speaks of a list that we do not know and its sender has
// staged ours: we were started with the new list while the others change to it. They
// understand us, and we understand them as soon as they answer or commit.
func (m *Machine) awaited(msg *incoming) bool {
	return msg.Flags&wire.FlagStaged != 0 && msg.Staged == m.list.Digest() &&
		(msg.Flags&wire.FlagParams == 0 || msg.Interval == m.cfg.Interval)
}

// stranger drops a message of a node that is not a participant. If the message carries other
// parameters the answer has ours, unless the sender has staged our list, which is without
// it. A stranger stops no node, not even with Strict.
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
// With Strict a node that hears of a disagreement stops. Otherwise only a node stops that
// has met no participant with its own parameters, and not because of a single one: the
// first one that it meets may be the one that is wrong (GO-A5).
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
