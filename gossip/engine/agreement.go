package engine

import (
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// agreement is what a node knows of the parameters of others.
type agreement struct {
	verified  bool  // a participant sent the same parameters as this node
	bad       noted // participants that sent other parameters than this node
	strangers noted // nodes outside the list that sent other parameters
	// unsigned has the participants about which a NotSigned event was reported. The value is
	// true while the participant's latest message, too, was not signed with one of this node's
	// keys.
	unsigned    map[nid.NID]bool
	ride        uint64  // number of this node's cycle until which it puts its parameters into all messages
	toOthers    answers // counts answers to participants that had other parameters
	toStrangers answers
	clockTold   uint64 // number of this node's cycle before which no other ClockRefused event is sent
}

// noted is a set of nodes about which an event was already reported.
type noted map[nid.NID]struct{}

// add adds a node to a set of at most the given size, and reports whether it was added.
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

// answers counts the answers with this node's parameters in one of its cycles.
type answers struct {
	cycle uint64
	count int
}

// Bounds of what this node does for peers with other parameters.
const (
	maxBad       = 1024 // bound of the participants that are remembered and reported
	maxStrangers = 64   // nodes outside the list that are remembered and reported
	maxAnswers   = 8    // bound of the answers with parameters in one cycle
)

// agreed reports whether a message has the same parameters as this node, as far as it carries any.
// If not, the message is dropped (gossip design, Initialization).
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

// awaited reports whether the sender uses a list that this node does not know, and has staged
// the list that this node uses. In that case this node was started with the new list while the
// others are still changing to it. The others understand this node, and this node understands
// them as soon as they answer or commit.
func (m *Machine) awaited(msg *incoming) bool {
	return msg.Flags&wire.FlagStaged != 0 && msg.Staged == m.list.Digest() &&
		(msg.Flags&wire.FlagParams == 0 || msg.Interval == m.cfg.Interval)
}

// stranger drops a message of a node that is not a participant, and returns false. If the message
// carries other parameters, this node answers with its own, unless the sender has staged this
// node's list and is leaving by that change. With or without Strict, such a message never stops
// this node.
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

// changeHeard notes that other nodes know another list: for some cycles, all messages of this node
// say which list this node uses.
func (a *agreement) changeHeard(m *Machine) { a.ride = m.cycle + uint64(m.limits.Dead) }

// disagree handles a message with other parameters, of which nothing is merged. With Strict, this
// node stops. Without Strict, it stops only if no participant has sent the same parameters as this
// node, and two participants have sent other ones: a single one may itself be wrong (GO-A5).
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

// tellParams answers a ping that carries parameters. The answer has this node's parameters,
// without clock and ages. A sender whose parameters are wrong learns that from the answer.
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
