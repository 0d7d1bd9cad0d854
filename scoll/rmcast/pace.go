package rmcast

// overhead is what a system takes for a datagram that waits, beside twice its size at
// most, in bytes.
const overhead = 1024

// start sets the limit of datagrams in flight so that the bursts of all origins take
// half of the least room at a receiver (RM-A21).
func (p *sender) start(r *roster, origins int) {
	room := r.capacity / (2*(r.fragment+HeaderSize) + overhead) / 2
	if r.capacity == 0 {
		room = r.window
	}
	p.limit = min(max(room/max(origins, 1), 1), r.window)
	p.recover, p.earned = p.sent, 0
}

// faster lets one datagram more be in flight for each limit of them that is released.
func (p *sender) faster(released, window int) {
	if p.earned += released; p.earned >= p.limit {
		p.earned, p.limit = 0, min(p.limit+1, window)
	}
}

// slower halves the limit because a datagram was repaired, once for all that were in
// flight together.
func (p *sender) slower(seq uint64) {
	if seq >= p.recover {
		p.limit, p.recover, p.earned = max(p.limit/2, 1), p.sent, 0
	}
}

// congested takes note of repairs below, at the origin.
func (s *stream) congested(e *Entry) {
	if s.isRoot() && e.Repairs > 0 {
		s.m.sender.slower(e.First)
	}
}

// active counts the origins that were heard lately, this node included.
func (m *Machine) active() int {
	n := 1
	for _, s := range m.streams {
		if s != m.sender.stream && m.now-s.heardAt < m.cfg.Silence && s.head > s.first {
			n++
		}
	}
	return n
}
