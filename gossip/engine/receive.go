package engine

import (
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// incoming is a message that is being processed.
type incoming struct {
	wire.Header
	from    nid.NID // the sender, see Machine.sender
	index   int     // index of the sender (from) in this node's list; -1 if the sender is not in it
	ping    bool
	body    []byte
	entries wire.Entries // the entries of a reply, not parsed yet
	foreign *foreign     // not nil: the message uses the other list of a change
}

// receive handles a message in the order of GO-A4: authentication code, form, parameters, age
// of the message, clock, vector of ages, reply.
func (m *Machine) receive(in Input, out *Output) {
	in.From = m.sender(&in)
	msg := incoming{from: in.From, index: m.list.Index(in.From), ping: in.Kind == Ping}
	data, ok := m.authentic(&in)
	if !ok {
		m.unsigned(&msg, out)
		return
	}
	if m.params.unsigned[msg.from] {
		m.params.unsigned[msg.from] = false
	}
	var err error
	msg.Header, msg.body, err = wire.ParseHeader(data)
	m.message, m.messageClock = err == nil, msg.Clock
	switch {
	case err == wire.ErrVersion && msg.index < 0 && m.roll.index(msg.from) < 0:
		m.stats.Strangers++
		return
	case err == wire.ErrVersion:
		m.stats.OtherVersion++
		m.disagree(&msg, out)
		return
	case err != nil:
		m.stats.Malformed++
		return
	case !m.agreed(&msg, out):
		return
	}
	if !m.wellFormed(&msg) {
		return
	}
	if !m.clockFits(&msg, out) {
		return
	}
	if m.pause.quiet {
		m.stats.Quiet++
	} else {
		m.merge(&msg)
	}
	if msg.ping {
		m.stats.PingsReceived++
		m.seeOurselves(&msg, out)
		m.reply(&msg, out)
	} else {
		m.stats.RepliesReceived++
	}
}

// sender returns the NID of the participant that has sent a message. A participant has one listed NID
// and sends from it, but its node may have others, and any of them may be the primary one. So the
// primary NID counts only if the message came from a NID that is on no list.
func (m *Machine) sender(in *Input) nid.NID {
	if in.Primary.IsValid() && !m.listed(in.From) && m.listed(in.Primary) {
		return in.Primary
	}
	return in.From
}

// listed reports whether a NID is on this node's list or, during a change, on the other list.
func (m *Machine) listed(id nid.NID) bool { return m.list.Index(id) >= 0 || m.roll.index(id) >= 0 }

// wellFormed reports whether the body of a message is valid, and counts a defect. It stores the parsed body
// of a reply in msg.entries.
func (m *Machine) wellFormed(msg *incoming) bool {
	n := m.list.Len()
	if msg.foreign != nil {
		n = msg.foreign.list.Len()
	}
	if m.cfg.Columns > 0 {
		n = min(n, m.cfg.Columns)
	}
	var err error
	if !msg.ping {
		msg.entries, err = wire.ParseEntries(msg.Flags, msg.body, n)
	}
	switch {
	case err == wire.ErrNoParticipant:
		m.stats.NoParticipant++
	case err != nil, msg.ping && (msg.Flags&(wire.FlagBitmap|wire.FlagPairs) != 0 || len(msg.body) != n):
		m.stats.Malformed++
	case msg.ping && !m.possible(msg):
		m.stats.NotYoung++
	default:
		return true
	}
	return false
}

// possible reports whether the sender of a ping gives its own age as 0, as each sender must.
func (m *Machine) possible(msg *incoming) bool {
	i := msg.index
	if msg.foreign != nil {
		i = msg.foreign.list.Index(msg.from)
	}
	return i < 0 || i >= len(msg.body) || msg.body[i] == 0
}

// merge takes over those ages of a message that are lower than this node's, each with a cycle added for the
// hop.
func (m *Machine) merge(msg *incoming) {
	if msg.index >= 0 && msg.index < m.ages.n {
		m.learn(msg.index, 0, msg.from)
	} else if m.roll.staged() && m.roll.index(msg.from) >= 0 {
		m.roll.other.heard[msg.from] = m.ran()
	}
	switch {
	case !msg.ping && msg.foreign == nil:
		msg.entries.Each(func(i int, age byte) { m.learn(i, age, msg.from) })
	case !msg.ping:
		msg.entries.Each(func(i int, age byte) {
			if i = msg.foreign.toOurs(i); i >= 0 {
				m.learn(i, age, msg.from)
			}
		})
	default:
		if m.roll.staged() && msg.foreign != nil {
			msg.foreign.hears(msg.body, m.ran())
		}
		m.mergeVector(m.ours(msg), msg.from)
	}
	m.rejuvenate()
	m.pause.accepted++
	m.merged = m.cycle
	m.health.changed = true
}

// mergeVector merges the ages of a ping, which has one of each participant.
func (m *Machine) mergeVector(remote []byte, via nid.NID) {
	if m.trace == nil {
		m.ages.merge(remote)
		return
	}
	for i, age := range remote {
		m.learn(i, age, via)
	}
}

// learn merges the age of one participant, and remembers the sender if that is news.
func (m *Machine) learn(i int, age byte, via nid.NID) {
	before := m.ages.bytes[i]
	m.ages.mergeOne(i, age)
	if m.trace != nil && m.ages.bytes[i] < before {
		m.trace[i] = heard{via: via, cycle: m.cycle, clock: m.clock.value, age: m.ages.bytes[i]}
	}
}

// seeOurselves handles the age of this node in a ping.
func (m *Machine) seeOurselves(msg *incoming, out *Output) {
	if v := m.ours(msg); m.self < len(v) {
		m.stealth.sees(m, v[m.self], out)
	}
}

// ours is the vector of a ping in the order of this node's list.
func (m *Machine) ours(msg *incoming) []byte {
	if msg.foreign == nil {
		return msg.body
	}
	return msg.foreign.translate(msg.body)
}
