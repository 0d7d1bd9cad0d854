package softroce

// Stats are the counters of the device of an address, of all its handles. A handle has them
// behind an interface:
//
//	s, ok := device.(interface{ Stats() softroce.Stats })
type Stats struct {
	QueuePairs  int // reliable ones and those for datagrams
	Regions     int // of registered memory
	Connections int // connections in the connection manager, also those whose numbers may not be used again yet

	Transport TransportStats // of all connections, also of those that are over
	CM        CMStats        // of the connection manager
	Datagrams UDStats        // of all queue pairs for datagrams
	Groups    GroupStats     // of all multicast groups

	BadICRC   uint64 // packets that were dropped: damaged
	Malformed uint64 // no packet of an operation that we know
	BadPKey   uint64 // of another partition
	UnknownQP uint64 // to no queue pair
	Strays    uint64 // to a connection, but not from its peer, or when it was over
	BadQKey   uint64 // to QP 1, but no management datagram
	Unsent    uint64 // bursts that the system did not take
	Full      uint64 // of these: because it had no room
}

// Stats returns the counters.
func (d *device) Stats() Stats { return d.hub.stats() }

func (h *hub) stats() Stats {
	s := Stats{
		QueuePairs: h.demux.len() - 1, Regions: h.regions.len(), Datagrams: h.udStats(), Groups: h.groups.stats(),
		BadICRC: h.ingress.badICRC.Load(), Malformed: h.ingress.malformed.Load(), BadPKey: h.demux.badPKey.Load(),
		UnknownQP: h.demux.unknownQP.Load(), Strays: h.strays.Load(), Unsent: h.unsent.Load(), Full: h.full.Load(),
	}
	h.cm.mu.Lock()
	s.Connections, s.CM, s.BadQKey = len(h.cm.cm.conns), h.cm.cm.counters, h.cm.badQKey
	h.cm.mu.Unlock()
	for _, c := range h.demux.conns() {
		c.mu.Lock()
		if c.rc != nil && !c.ended {
			s.Transport.add(&c.rc.counters)
		}
		c.mu.Unlock()
	}
	h.pastMu.Lock()
	s.Transport.add(&h.past)
	h.pastMu.Unlock()
	return s
}

// retire keeps the counters of a connection that is over. c.mu is held.
func (h *hub) retire(c *conn) {
	if c.rc != nil {
		h.pastMu.Lock()
		h.past.add(&c.rc.counters)
		h.pastMu.Unlock()
	}
}

// conns returns the connections.
func (d *demultiplexer) conns() []*conn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var list []*conn
	for _, e := range d.ends {
		if c, ok := e.(*conn); ok {
			list = append(list, c)
		}
	}
	return list
}

func (s *TransportStats) add(o *TransportStats) {
	s.Duplicates += o.Duplicates
	s.Ahead += o.Ahead
	s.NoBuffer += o.NoBuffer
	s.Refused += o.Refused
	s.Ghosts += o.Ghosts
	s.Resent += o.Resent
	s.Probes += o.Probes
	s.Timeouts += o.Timeouts
	s.Naks += o.Naks
	s.RNRNaks += o.RNRNaks
	s.Foreign += o.Foreign
}
