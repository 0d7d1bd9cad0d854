package o2iblnd

import "ulnet/lnd"

// MulticastSnapshot is the state of an NI's multicast at one instant. Counters says why
// datagrams were dropped here; those that the device dropped are in the device's statistics.
type MulticastSnapshot struct {
	QPN        uint32              // of the queue pair for datagrams; 0: none was needed so far
	QKey       uint32              // of all groups
	Limits     lnd.MulticastLimits // as they are now
	Groups     []lnd.Group         // that were joined, in that order
	TxMessages uint64              // datagrams sent
	TxBytes    uint64              // of payload
	RxMessages uint64              // that lnet was given
	RxBytes    uint64              // of their payload
	Missed     uint64              // datagrams that found no receive buffer, here or in the system
}

func (ni *NI) multicastSnapshot() MulticastSnapshot {
	c := &ni.cast
	if c.ni == nil {
		return MulticastSnapshot{} // multicast was never used
	}
	s := MulticastSnapshot{
		QKey: ni.cfg.MulticastQKey, Limits: ni.MulticastLimits(), Groups: *c.joined.Load(),
		TxMessages: c.txMsgs.Load(), TxBytes: c.txBytes.Load(), RxMessages: c.rxMsgs.Load(), RxBytes: c.rxBytes.Load(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends != nil {
		s.QPN, s.Missed = c.ends.qp.QPN(), c.ends.pool.Stats().Empty
		if q, ok := c.ends.qp.(interface{ Missed() uint64 }); ok {
			s.Missed += q.Missed()
		}
	}
	return s
}
