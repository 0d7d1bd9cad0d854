package engine

// The payload of each datagram of the window has a buffer of its own while it is here,
// as long as a fragment of the version can be, so that an origin that is on the list
// and sends nothing takes no memory. Machine.kept is what datagrams of other origins
// take, in bytes.

// spareBuffers is how many buffers are kept for more.
const spareBuffers = 128

// fits reports whether there is memory for one more datagram of an origin. That is
// bounded only where any node may join, so that origins may be anybody's inventions:
// for all together, but each has its share in any case.
func (s *stream) fits() bool {
	m, need := s.m, s.roster.fragment
	return m.admitted != nil || m.kept+need <= m.cfg.Memory || s.kept+need <= m.cfg.Memory/len(s.roster.peers)
}

// store keeps a copy of a datagram's fragment.
func (s *stream) store(sl *slot, fragment []byte) {
	m, size := s.m, s.roster.fragment
	if n := len(m.spare); n > 0 && cap(m.spare[n-1]) >= size {
		sl.data, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		sl.data = make([]byte, 0, size)
	}
	sl.data = append(sl.data[:0], fragment...)
	if s != m.sender.stream {
		s.kept += cap(sl.data)
		m.kept += cap(sl.data)
	}
}

// forget makes a slot the one of a datagram of which nothing is known.
func (s *stream) forget(sl *slot) {
	if sl.data != nil {
		if s != s.m.sender.stream {
			s.kept -= cap(sl.data)
			s.m.kept -= cap(sl.data)
		}
		if m := s.m; len(m.spare) < spareBuffers {
			m.spare = append(m.spare, sl.data)
		}
	}
	*sl = slot{}
}

// forgetAll does so with all slots.
func (s *stream) forgetAll() {
	for i := range s.slots {
		s.forget(&s.slots[i])
	}
}

// message copies a whole message to the effects.
func (s *stream) message(first uint64) []byte {
	m := s.m
	begin := len(m.out.Buf)
	for i := range uint64(s.slot(first).count) {
		m.out.Buf = append(m.out.Buf, s.slot(first+i).data...)
	}
	return m.out.Buf[begin:len(m.out.Buf):len(m.out.Buf)]
}
