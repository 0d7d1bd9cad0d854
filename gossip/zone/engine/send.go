package engine

// rand returns a number below n.
func (m *Machine) rand(n int) int { return int(m.rng.Uint64() % uint64(n)) }

// send sends a message to a node, unless no more than its short form is known.
func (m *Machine) send(to Ref, msg Message) {
	if to != 0 && m.cfg.Wire && !m.cfg.Table.ID(to).IsValid() {
		return
	}
	msg.From, msg.Version = m.self, m.ver
	m.out.Sends = append(m.out.Sends, Send{To: to, short: m.codec.short(to), Message: msg})
	m.stats.Sent[msg.Kind]++
}

// answer sends a message to the sender of the one that is processed.
func (m *Machine) answer(msg Message) {
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

// encode replaces the messages of a step by their bytes.
func (m *Machine) encode(begin int) {
	sends := m.out.Sends[begin:]
	for i, n := 0, len(sends); i < n; i++ {
		s := &m.out.Sends[begin+i]
		if k := s.Message.Kind; k.lists() || k.tables() || k == AttributeData {
			msg := s.Message // here, so that only these are allocated
			m.encodeLists(begin+i, &msg)
			continue
		}
		s.Begin = len(m.out.Buf)
		m.out.Buf = m.codec.appendFixed(m.out.Buf, &s.Message)
		m.out.Buf = m.codec.sign(m.out.Buf, s.Begin, s.short)
		s.End, s.Message = len(m.out.Buf), Message{Kind: s.Message.Kind}
	}
}

// encodeLists encodes a message with lists: the first part in its place, others at
// the end of all sends.
func (m *Machine) encodeLists(at int, msg *Message) {
	first := true
	e := encoder{codec: &m.codec, m: msg, to: m.out.Sends[at].short, b: m.out.Buf}
	e.emit = func(begin, end int) {
		s := m.out.Sends[at]
		s.Begin, s.End, s.Message = begin, end, Message{Kind: msg.Kind}
		if first {
			m.out.Sends[at], first = s, false
			return
		}
		m.out.Sends = append(m.out.Sends, s)
		m.stats.Sent[msg.Kind]++
	}
	e.encode()
	m.out.Buf = e.b
}
