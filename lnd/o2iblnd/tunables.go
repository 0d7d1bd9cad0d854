package o2iblnd

import (
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
)

// The largest values that tunables may have.
const (
	maxSeconds = 24 * 60 * 60
	maxCount   = 1 << 20
	maxBuffer  = 1 << 30
)

// Tunables are the tunables of this driver that are numbers. Setting one changes c.
func (c *Config) Tunables() []lnd.Tunable {
	return slices.Concat(c.creditTunables(), c.packetTunables())
}

// creditTunables are the tunables of credits and connections.
func (c *Config) creditTunables() []lnd.Tunable {
	return []lnd.Tunable{
		lnd.Tune("service", kib.Service, lnd.Number(&c.Service, 1, 65535), "Port of the connection manager, not of UDP, the same on all nodes."),
		lnd.Tune("peer_credits_hiw", 0, lnd.Number(&c.PeerCreditsHIW, 0, maxPeerCredits-1), "How many credits a peer has to wait for at most before they are given back by\n"+
			"themselves; 0: half of peer_credits."),
		lnd.Tune("concurrent_sends", 0, lnd.Number(&c.ConcurrentSends, 0, 2*maxPeerCredits), "Messages of one connection that the provider has at a time; 0: as peer_credits."),
		lnd.Tune("conns_per_peer", 1, lnd.Number(&c.ConnsPerPeer, 1, maxConnsPerPeer), "Connections for each peer, up to 127."),
		lnd.Tune("ntx", 512, lnd.Number(&c.NTX, 1, maxCount), "Messages that all connections of an interface send at a time."),
	}
}

// packetTunables are the tunables of time, packets and bounds.
func (c *Config) packetTunables() []lnd.Tunable {
	return []lnd.Tunable{
		lnd.Tune("timeout", 0, lnd.Span(&c.Timeout, time.Second, 0, maxSeconds), "Seconds after which a message that is not done ends its connection; 0: as long as\n"+
			"LNet lets a driver try, see lnet_retry_count."),
		lnd.Tune("keepalive", 100, lnd.SpanOrNone(&c.Keepalive, time.Second, maxSeconds), "Seconds of silence after which a connection is tried; 0: never."),
		lnd.Tune("retry_count", 5, lnd.NumberOrNone(&c.RetryCount, 0, 7), "How often a packet without an answer is sent again, and one for which the peer\n"+
			"had no buffer, before the connection ends. 7 of the second is without end."),
		lnd.Tune("rnr_retry_count", 6, lnd.NumberOrNone(&c.RNRRetryCount, 0, 7), ""),
		lnd.Tune("ib_mtu", 0, lnd.Among(&c.IBMTU, 0, 256, 512, 1024, 2048, 4096), "Payload of packets in bytes, for connections that this node asks for: 256, 512,\n"+
			"1024, 2048 or 4096; 0: as much as the interface lets pass."),
		lnd.Tune("tos", -1, lnd.NumberOrUnset(&c.TOS, 255), "IP type of service of all packets of connections that this node asks for, 0 to\n"+
			"255; -1: none."),
		lnd.Tune("use_privileged_port", 1, lnd.Not(&c.UnprivilegedPort), "1: say that requests come from a port below 1024. 1: refuse others."),
		lnd.Tune("require_privileged_port", 0, lnd.Flag(&c.RequirePrivilegedPort), ""),
		lnd.Tune("wrq_sge", 0, lnd.Number(&c.WrqSGE, 0, 256), "Pieces of memory that one RDMA WRITE gathers, 2 in kernels; 0: as many as the\n"+
			"provider can."),
		lnd.Tune("cksum", 0, lnd.Flag(&c.Cksum), "1: send checksums of messages, without their bulk data, once the peer has shown how\n"+
			"it counts. Those that arrive are verified in any case."),
		lnd.Tune("rx_buffers", 1024, lnd.Number(&c.RxBuffers, 1, maxCount), "Messages of 4 KiB that an interface can be receiving at a time, from all its peers\n"+
			"together. What finds no room is sent again by its sender."),
		lnd.Tune("max_conns", 16384, lnd.Number(&c.MaxConns, 1, maxCount), "Connections of an interface; requests for more are refused."),
		lnd.Tune("rx_buffer_size", 0, lnd.Number(&c.ReceiveBuffer, 0, maxBuffer), "Bytes of arriving packets for which to ask the system, which gives no more than\n"+
			"sysctl net.core.rmem_max; 0: 4 MiB. What is on the way is bounded by what it gives,\n"+
			"and incast from many peers needs more."),
	}
}
