package engine

// Each datagram in the window that has arrived has a buffer of its own, with the size of the
// version's fragments. So an origin that is on the list but sends nothing takes no memory.
// Machine.kept is the memory of all other origins' datagrams, in bytes.

// spareBuffers bounds the free buffers that are kept.
const spareBuffers = 128

// fits reports whether there is memory for one more datagram of an origin. A common bound of
// all origins applies only to groups that any node may join, since their origins may be
// invented. Each origin has a guaranteed share of that bound.
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

// forget frees the data of a slot.
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

// forgetAll frees the data of all slots.
func (s *stream) forgetAll() {
	for i := range s.slots {
		s.forget(&s.slots[i])
	}
}

// message copies a complete message to the output.
func (s *stream) message(first uint64) []byte {
	m := s.m
	begin := len(m.out.Buf)
	for i := range uint64(s.slot(first).count) {
		m.out.Buf = append(m.out.Buf, s.slot(first+i).data...)
	}
	return m.out.Buf[begin:len(m.out.Buf):len(m.out.Buf)]
}
