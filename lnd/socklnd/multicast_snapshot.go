package socklnd

import "ulnet/lnd"

// MulticastSnapshot is the state of an NI's multicast at one instant. Counters says why
// datagrams were dropped.
type MulticastSnapshot struct {
	Interface  string              // network interface that carries datagrams; empty: no multicast
	Port       uint16              // UDP port of the datagrams
	Limits     lnd.MulticastLimits // limits of datagrams now
	Groups     []lnd.Group         // groups joined, in the order of joining
	TxMessages uint64              // datagrams that were sent
	TxBytes    uint64              // payload bytes of the datagrams sent
	RxMessages uint64              // datagrams that were given to lnet
	RxBytes    uint64              // payload bytes of the datagrams given to lnet
	Missed     uint64              // datagrams that found the receive buffer full, as the latest received datagram tells
}

func (ni *NI) multicastSnapshot() MulticastSnapshot {
	c := &ni.cast
	c.mu.Lock()
	name := c.name
	c.mu.Unlock()
	return MulticastSnapshot{
		Interface: name, Port: ni.cfg.MulticastPort, Limits: ni.MulticastLimits(), Groups: *c.joined.Load(),
		TxMessages: c.txMsgs.Load(), TxBytes: c.txBytes.Load(),
		RxMessages: c.rxMsgs.Load(), RxBytes: c.rxBytes.Load(), Missed: c.missed.Load(),
	}
}
