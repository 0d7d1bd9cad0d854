package socklnd

import "ulnet/lnd"

// MulticastSnapshot is the state of an NI's multicast at one instant. Counters says why
// datagrams were dropped.
type MulticastSnapshot struct {
	Interface  string              // by which datagrams come and go; empty: no multicast
	Port       uint16              // UDP
	Limits     lnd.MulticastLimits // as they are now
	Groups     []lnd.Group         // that were joined, in that order
	TxMessages uint64              // datagrams sent
	TxBytes    uint64              // of payload
	RxMessages uint64              // that lnet was given
	RxBytes    uint64              // of their payload
	Missed     uint64              // datagrams that found the receive buffer full, as the latest received datagram tells
}

func (ni *NI) multicastSnapshot() MulticastSnapshot {
	c := &ni.cast
	return MulticastSnapshot{
		Interface: c.name, Port: ni.cfg.MulticastPort, Limits: ni.MulticastLimits(), Groups: *c.joined.Load(),
		TxMessages: c.txMsgs.Load(), TxBytes: c.txBytes.Load(),
		RxMessages: c.rxMsgs.Load(), RxBytes: c.rxBytes.Load(), Missed: c.missed.Load(),
	}
}
