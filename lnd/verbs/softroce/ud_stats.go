package softroce

// UDStats are the counters of all queue pairs for datagrams of a device. For each queue pair that an
// arriving datagram reaches, exactly one of the counters of arrived datagrams rises.
type UDStats struct {
	Sent     uint64 // datagrams that were sent
	Failed   uint64 // datagrams that the system refused to send
	Waited   uint64 // how often the system had no room to send
	Received uint64 // datagrams handed to the consumer
	BadQKey  uint64 // datagrams dropped because of their Q_Key
	Own      uint64 // dropped: to a group, from this queue pair itself
	Foreign  uint64 // packets that are no datagrams, or have immediate data
	TooLong  uint64 // datagrams longer than a receive buffer
	NoBuffer uint64 // datagrams that found no receive buffer
	Late     uint64 // datagrams that arrived after the queue pair was closed
}

// udStats returns the sum of the counters of all queue pairs for datagrams, closed ones included.
func (h *hub) udStats() UDStats {
	h.demux.mu.RLock()
	var list []*ud
	for _, e := range h.demux.ends {
		if u, ok := e.(*ud); ok {
			list = append(list, u)
		}
	}
	h.demux.mu.RUnlock()
	h.pastMu.Lock()
	sum := h.pastUD
	h.pastMu.Unlock()
	for _, u := range list {
		sum.add(&u.counters)
	}
	return sum
}

// retireUD keeps the counters of a queue pair that is closed.
func (h *hub) retireUD(u *ud) {
	h.pastMu.Lock()
	defer h.pastMu.Unlock()
	h.pastUD.add(&u.counters)
}

func (s *UDStats) add(c *udCounters) {
	s.Sent += c.sent.Load()
	s.Failed += c.failed.Load()
	s.Waited += c.full.Load()
	s.Received += c.received.Load()
	s.BadQKey += c.qkey.Load()
	s.Own += c.own.Load()
	s.Foreign += c.opcode.Load()
	s.TooLong += c.tooLong.Load()
	s.NoBuffer += c.noBuffer.Load()
	s.Late += c.late.Load()
}
