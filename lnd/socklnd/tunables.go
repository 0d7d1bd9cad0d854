package socklnd

import (
	"slices"
	"time"

	"ulnet/lnd"
)

// The largest values that tunables may have.
const (
	maxSeconds = 24 * 60 * 60
	maxCount   = 1 << 20
	maxBuffer  = 1 << 30
)

// Tunables are the tunables of this driver that are numbers. Setting one changes c.
func (c *Config) Tunables() []lnd.Tunable {
	return slices.Concat(c.connectionTunables(), c.socketTunables())
}

// connectionTunables are the tunables of connections and their messages.
func (c *Config) connectionTunables() []lnd.Tunable {
	return []lnd.Tunable{
		lnd.Tune("sock_timeout", 0, lnd.Span(&c.SockTimeout, time.Second, 0, maxSeconds), "Seconds without progress after which a connection is closed, and for a\n"+
			"connection attempt; 0: as long as LNet lets a driver try, see lnet_retry_count."),
		lnd.Tune("conns_per_peer", 0, lnd.Number(&c.ConnsPerPeer, 0, maxConnsPerPeer), "Connections of each bulk type per peer, up to 127; 0: by the speed of the link\n"+
			"(1 Gbit/s: 1, 10: 2, 25: 3, 100: 4; unknown: 1)."),
		lnd.Tune("typed_conns", 1, lnd.Not(&c.Untyped), "1: separate connections for control and bulk; 0: one for everything."),
		lnd.Tune("min_bulk", 1024, lnd.Number(&c.MinBulk, 1, maxBuffer), "Bytes from which on a message travels on a bulk connection."),
		lnd.Tune("round_robin", 1, lnd.Not(&c.FirstIdle), "Of equally busy connections, 1: that of the same MD, else the least recently used; 0: that of the same MD, else the first."),
		lnd.Tune("min_reconnectms", 1000, lnd.Span(&c.MinReconnect, time.Millisecond, 1, maxSeconds*1000), "Milliseconds before the first and the last retry of a connection attempt; each\n"+
			"waits twice as long as the one before."),
		lnd.Tune("max_reconnectms", 60000, lnd.Span(&c.MaxReconnect, time.Millisecond, 1, maxSeconds*1000), ""),
		lnd.Tune("keepalive", 30, lnd.SpanOrNone(&c.Keepalive, time.Second, maxSeconds), "Seconds of silence after which LNet's own keepalive is sent; 0: never."),
		lnd.Tune("keepalive_idle", 30, lnd.SpanOrNone(&c.KeepaliveIdle, time.Second, 32767), "TCP keepalive: seconds of silence before the first probe (0: no probes),\n"+
			"number of probes, seconds between them."),
		lnd.Tune("keepalive_count", 5, lnd.Number(&c.KeepaliveCount, 1, 127), ""),
		lnd.Tune("keepalive_intvl", 5, lnd.Span(&c.KeepaliveInterval, time.Second, 1, 32767), ""),
	}
}

// socketTunables are the tunables of the protocol, sockets and bounds.
func (c *Config) socketTunables() []lnd.Tunable {
	return []lnd.Tunable{
		lnd.Tune("protocol", 0, lnd.Number(&c.Protocol, 0, 3), "The newest version of the socklnd protocol to speak over IPv4, 1 to 3, for\n"+
			"peers that get newer ones wrong; 0: all, and 3 first. IPv6 has version 4 only."),
		lnd.Tune("enable_csum", 0, lnd.Flag(&c.Checksum), "1: send checksums; only version 2 of the protocol has them. Those that arrive\n"+
			"are verified in any case."),
		lnd.Tune("inject_csum_error", 0, lnd.Flag(&c.InjectChecksumError), "1: make the first checksum wrong that is sent. For tests."),
		lnd.Tune("nagle", 0, lnd.Flag(&c.Nagle), "1: let TCP wait for more to send."),
		lnd.Tune("tos", -1, lnd.NumberOrUnset(&c.TOS, 255), "IP type of service, 0 to 255; -1: the system's."),
		lnd.Tune("tx_buffer_size", 0, lnd.Number(&c.TxBufferSize, 0, maxBuffer), "Socket buffers in bytes; 0: the system chooses."),
		lnd.Tune("rx_buffer_size", 0, lnd.Number(&c.RxBufferSize, 0, maxBuffer), ""),
		lnd.Tune("control_tos", 0, lnd.Number(&c.ControlTOS, -1, 255), "IP type of service of CONTROL connections, and of what leaves on BULK_IN, as\n"+
			"priority messages do;\n"+
			"0: tos if that is set, else 160 (DSCP CS5); -1: as tos."),
		lnd.Tune("control_priority", prioInteractive, lnd.NumberOrNone(&c.ControlPriority, -1, 15), "SO_PRIORITY of these connections in this host's queues, up to 6 without\n"+
			"CAP_NET_ADMIN; -1: none."),
		lnd.Tune("max_conns", 65536, lnd.Number(&c.MaxConns, 1, maxCount), "Accepted connections of one listener, and those from one address. Connections\n"+
			"from ports above 1023 of an address are counted apart from the others. While\n"+
			"half of max_conns are open, an address gets a 1024th of max_conns, or 16 if\n"+
			"that is more."),
		lnd.Tune("max_conns_per_addr", 1024, lnd.Number(&c.MaxConnsPerAddr, 1, maxCount), ""),
		lnd.Tune("busy_poll", 0, lnd.Span(&c.BusyPoll, time.Microsecond, 0, int(maxBusyPoll/time.Microsecond)), "Microseconds for which a reader that finds nothing looks again before it waits,\n"+
			"one at a time, up to 10000. Shortens answers that come soon, for CPU time."),
	}
}
