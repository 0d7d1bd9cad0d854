package o2iblnd

import "ulnet/lnd"

// MulticastSnapshot is the state of an NI's multicast at one instant. Counters says why
// datagrams were dropped here; those that the device dropped are in the device's statistics.
type MulticastSnapshot struct {
	QPN        uint32              // number of the queue pair for datagrams; 0: none was needed so far
	QKey       uint32              // Q_Key of all groups
	Limits     lnd.MulticastLimits // limits of datagrams now
	Groups     []lnd.Group         // groups joined, in the order of joining
	TxMessages uint64              // datagrams that were sent
	TxBytes    uint64              // payload bytes of the datagrams sent
	RxMessages uint64              // datagrams that were given to lnet
	RxBytes    uint64              // payload bytes of the datagrams given to lnet
	Missed     uint64              // datagrams that found no receive buffer, here or in the system
}

func (ni *NI) multicastSnapshot() MulticastSnapshot {
	c := &ni.cast
	if c.ni == nil {
		return MulticastSnapshot{} // casting.init was not called
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
