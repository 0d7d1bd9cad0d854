package softroce

import "ulnet/lnd/verbs"

var _ verbs.Transporter = (*conn)(nil)

// Stats are the counters of the device of an address, of all its handles. A handle gives
// them through an interface:
//
//	s, ok := device.(interface{ Stats() softroce.Stats })
type Stats struct {
	QueuePairs  int // queue pairs of connections and of datagrams
	Regions     int // registered memory regions
	Connections int // connections in the connection manager, also those whose numbers may not be used again yet

	Transport TransportStats // counters of all connections, including those that have ended
	CM        CMStats        // counters of the connection manager
	Datagrams UDStats        // counters of all queue pairs for datagrams
	Groups    GroupStats     // counters of all multicast groups

	BadICRC   uint64 // packets dropped because of a wrong ICRC
	Malformed uint64 // packets that could not be parsed
	BadPKey   uint64 // packets of another partition
	UnknownQP uint64 // packets for queue pairs that do not exist
	Strays    uint64 // packets to a connection from another node than its peer, or when it was over
	BadQKey   uint64 // datagrams to QP 1 without the Q_Key of management
	Unsent    uint64 // bursts that the system refused to send
	Full      uint64 // bursts refused because the system had no room
}

// Stats returns the device's counters.
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

// Transport returns the state of the connection's transport (verbs.Transporter).
func (c *conn) Transport() verbs.TransportState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rc == nil {
		return verbs.TransportState{}
	}
	r := &c.rc.req
	s := verbs.TransportState{
		InFlight: r.next.Sub(r.unacked), Unsent: c.rc.sends.end.Sub(r.next), Window: r.window, RTT: r.srtt, Retries: r.retries,
	}
	if c.rc.outstanding() {
		s.Silent = c.hub.clock.Now() - r.silentSince
	}
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

// conns returns all connections.
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
