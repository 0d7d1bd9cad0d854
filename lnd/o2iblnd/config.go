package o2iblnd

import (
	"net/netip"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// Config holds the tunables of o2iblnd under Lustre's names (o2iblnd-wire §12). The zero value of
// a field means its default. peer_credits, credits and peer_timeout are those of lnd.Tunables;
// like kernels, the driver limits peer_credits to 8 to 255.
//
// Tunables without a field have nothing to tune here: map_on_demand,
// fmr_pool_size, fmr_flush_trigger, fmr_cache and dev_failover are about the ways in
// which kernels register memory, nscheds about their threads.
type Config struct {
	// Open opens the device of an address: softroce.Open or ibv.Open. Required.
	Open verbs.Opener

	Service         uint16 // service, default 987: the port of the connection manager
	PeerCreditsHIW  int    // peer_credits_hiw, default half of peer_credits: when a peer is owed so many credits, a NOOP returns them
	ConcurrentSends int    // concurrent_sends, default peer_credits: most sends of a connection that are posted and not completed
	ConnsPerPeer    int    // conns_per_peer: default 1, at most 127
	NTX             int    // ntx, 512: bound of the NI's messages under way, which each connection raises by three times its queue depth

	// Timeout (timeout) is how long a message may wait, for credits, for its completion and for the
	// peer's answer. The driver may notice a timeout late, by a quarter of this time at most. 0:
	// lnd.Tunables.Timeout, 49 s with LNet's defaults.
	Timeout time.Duration
	// RetryCount (retry_count, 5) is how often a queue pair retransmits a packet without an
	// answer, 1 to 7; negative: 0.
	RetryCount int
	// RNRRetryCount (rnr_retry_count, 6) is how often a queue pair repeats a SEND for which the
	// peer has no buffer, 1 to 7; 7: without end; negative: 0.
	RNRRetryCount int
	Keepalive     time.Duration // keepalive, default 100 s: a connection that has sent nothing for so long sends a NOOP; negative: never
	IBMTU         int           // ib_mtu of connections that this side opens, 256 to 4096; 0: that of the path
	TOS           int           // tos, 0 to 255: type of service of all packets of connections that this side opens

	UnprivilegedPort      bool // use_privileged_port=0: connections claim a port above 1023
	RequirePrivilegedPort bool // require_privileged_port: refuse peers that claim a port above 1023

	// WrqSGE (wrq_sge) is how many pieces of memory a WRITE gathers. 0: as many as the
	// device can; kernels have 2.
	WrqSGE int
	// Cksum (cksum) adds checksums to messages. Kernels compute them in two ways, and a kernel
	// ends the connection if a checksum is computed in the other way. So this side sends none
	// before the peer has sent one, and then computes them as the peer does. Nodes of this project
	// say that they accept both ways. Checksums that arrive are always verified, except for those
	// that kernels are known to get wrong, see VerifyChecksum of kib.
	Cksum bool

	// RxBuffers is how many messages of 4 KiB the NI can be receiving at a time, of all its
	// peers together (1024). A message that finds no buffer is sent again by its sender.
	// Buffers are made when they are first needed. Local policy.
	RxBuffers int
	// MaxConns bounds the connections of an NI, those that are being made or ended
	// included (16384). Above, requests are refused with NO_RESOURCES. Local policy.
	MaxConns int
	// MTU is the path MTU of the device; see verbs.OpenConfig.
	MTU int
	// ReceiveBuffer is the size of the device's receive buffer in bytes, see verbs.OpenConfig. 0:
	// 4 MiB, if the system gives as much. It bounds the packets in flight: with the 24 packets for
	// which Linux has room by default, a transfer of 1 MiB takes several times as long.
	ReceiveBuffer int

	// NoMulticast (multicast=0) leaves the NI without multicast. Otherwise group g has the
	// address MulticastBase + g. All nodes of a net have the same base and Q_Key. Kernels
	// have no multicast. Local policy.
	NoMulticast      bool
	MulticastBase    netip.Addr // multicast_base, default 239.76.0.0; its low 16 bits are 0
	MulticastQKey    uint32     // multicast_qkey, default 0x01234567 as RDMA-CM's groups; below 0x80000000
	MulticastBuffers int        // multicast_buffers, 512: datagrams that the NI can be receiving at a time

	// FirstCookie is the cookie of the first transfer of each connection, for the
	// replay of recordings; 0: 1.
	FirstCookie uint64
}

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

// Limits of tunables.
const (
	maxSeconds      = 24 * 60 * 60
	maxCount        = 1 << 20
	maxBuffer       = 1 << 30
	minPeerCredits  = 8   // IBLND_CREDITS_DEFAULT
	maxPeerCredits  = 255 // IBLND_CREDITS_MAX
	maxConnsPerPeer = 127
)
