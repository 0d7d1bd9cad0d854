package engine

import "ulnet/gossip/zone/wire"

// rand returns a random number below n.
func (m *Machine) rand(n int) int { return int(m.rng.Uint64() % uint64(n)) }

// send sends a message to a node, unless only the short form of the node's id is known.
func (m *Machine) send(to wire.Ref, msg wire.Message) {
	if to != 0 && m.cfg.Wire && !m.cfg.Table.ID(to).IsValid() {
		return
	}
	msg.From, msg.Version = m.self, m.ver
	m.out.Sends = append(m.out.Sends, Send{To: to, short: m.cfg.Table.Short(to), Message: msg})
	m.stats.Sent[msg.Kind]++
}

// answer sends a message to the sender of the message that is being processed.
func (m *Machine) answer(msg wire.Message) {
	if m.in.From != 0 && (!m.cfg.Wire || m.cfg.Table.ID(m.in.From).IsValid()) {
		m.send(m.in.From, msg)
		return
	}
	if !m.peer.IsValid() {
		return
	}
	m.send(0, msg)
	s := &m.out.Sends[len(m.out.Sends)-1]
	s.NID, s.short = m.peer, m.inShort
}

// encode replaces the messages of a step by their encoded bytes.
func (m *Machine) encode(begin int) {
	sends := m.out.Sends[begin:]
	for i, n := 0, len(sends); i < n; i++ {
		s := &m.out.Sends[begin+i]
		if s.Message.Kind.HasLists() {
			msg := s.Message // declared in this branch, so that only messages with lists are allocated on the heap
			m.encodeLists(begin+i, &msg)
			continue
		}
		s.Begin = len(m.out.Buf)
		m.out.Buf = m.codec.Append(m.out.Buf, &s.Message, s.short)
		s.End, s.Message = len(m.out.Buf), wire.Message{Kind: s.Message.Kind}
	}
}

// encodeLists encodes a message with lists: the first part takes the message's place, the
// others go to the end of all sends.
func (m *Machine) encodeLists(at int, msg *wire.Message) {
	first := true
	m.out.Buf = m.codec.AppendParts(m.out.Buf, msg, m.out.Sends[at].short, func(begin, end int) {
		s := m.out.Sends[at]
		s.Begin, s.End, s.Message = begin, end, wire.Message{Kind: msg.Kind}
		if first {
			m.out.Sends[at], first = s, false
			return
		}
		s.Rest = true
		m.out.Sends = append(m.out.Sends, s)
		m.stats.Sent[msg.Kind]++
	})
}
