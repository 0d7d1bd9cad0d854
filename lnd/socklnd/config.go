package socklnd

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
)

// Config holds the tunables of socklnd under Lustre's names. The zero value
// of a field means its default.
//
// Tunables without a field have no effect here. nscheds, nconnds and nconnds_max are numbers of
// threads, but goroutines are made as needed. eager_ack would have TCP send its ACKs at once,
// with system calls for each message; the next read of the socket makes it send them anyway. nonblk_zcack
// is not needed: it keeps the acks of zero-copy messages from waiting behind bulk, and these leave on the
// connection of type BULK_IN if there is one, on which this side sends no bulk. zc_min_payload is not needed, because this side
// never asks for zero-copy acks.
type Config struct {
	Accept        AcceptMode    // accept, default secure, or trust if AcceptPort is above 1023
	AcceptPort    uint16        // accept_port, default 988; also the port to dial
	AcceptBacklog int           // accept_backlog, default 127
	AcceptTimeout time.Duration // accept_timeout, 5 s: for each read of a handshake
	SourceAddress SourceAddress // source_address: how source addresses are checked

	// SockTimeout (sock_timeout) bounds a connection attempt and the time without progress on a
	// message that is partly received or waits to be sent. The driver notices such a time-out
	// within 1.25 × SockTimeout. 0: lnd.Tunables.Timeout, 49 s with LNet's defaults.
	SockTimeout  time.Duration
	Untyped      bool          // typed_conns=0: connections of type ANY, in version 2
	ConnsPerPeer int           // conns_per_peer: connections of each bulk type, at most 127; 0: see connsForSpeed
	MinBulk      int           // min_bulk, 1024 bytes: messages of this size or more leave on BULK_OUT
	FirstIdle    bool          // round_robin=0: of equal connections the first, not the least recently used
	MinReconnect time.Duration // min_reconnectms, default 1 s
	MaxReconnect time.Duration // max_reconnectms, default 60 s

	Keepalive         time.Duration // keepalive, 30 s of silence before a NOOP; negative: none
	KeepaliveIdle     time.Duration // keepalive_idle, default 30 s; negative: TCP sends no keepalives
	KeepaliveInterval time.Duration // keepalive_intvl, default 5 s
	KeepaliveCount    int           // keepalive_count, default 5

	// Protocol (protocol, which kernels have in debug builds) pins an IPv4 NI to
	// a version: 1, 2 or 3. Newer ones are refused as if they did not exist.
	// 0: all.
	Protocol ksock.Version

	Checksum            bool // enable_csum: send checksums on connections of version 2, the only version that has them
	InjectChecksumError bool // inject_csum_error: the first checksum sent is wrong

	TOS          int  // tos, 0 to 255; 0: the system's default
	Nagle        bool // nagle: leave Nagle's algorithm on
	TxBufferSize int  // tx_buffer_size in bytes; 0: the system's default
	RxBufferSize int  // rx_buffer_size in bytes; 0: the system's default

	// BusyPoll (busy_poll) is how long a reader that finds no data polls before it blocks;
	// between polls it yields to other threads. Only one reader of a driver at a time does so. 0:
	// every reader blocks at once. Busy-polling saves the sleep and the wake-up where answers come
	// soon, and costs CPU time where they do not. Local policy.
	BusyPoll time.Duration

	// ControlTOS replaces TOS on CONTROL connections, and for everything that leaves on
	// BULK_IN, such as priority messages. The default is 0xa0, the class CS5 of RFC 4594,
	// unless TOS is set; negative: the same as TOS. It is advice to the network; local policy.
	ControlTOS int
	// ControlPriority is the SO_PRIORITY of CONTROL and BULK_IN connections: 6, the highest that
	// needs no CAP_NET_ADMIN; negative: none. Local policy.
	ControlPriority int

	// MaxHandshakes bounds the accepted connections that have not finished their
	// handshake (1024). At the limit a new one evicts the oldest. Local policy.
	MaxHandshakes int
	// MaxHandshakesPerAddr bounds the unfinished handshakes of one address, separately for ports
	// above 1023 and for other ports (256).
	MaxHandshakesPerAddr int
	// MaxConns bounds the accepted connections of a listener (65536). At the limit new
	// ones are closed. While half of them are in use, new ones are also closed if their address
	// has MaxConns/1024 connections already, or 16 if that is more. Local policy.
	MaxConns int
	// MaxConnsPerAddr bounds the accepted connections from one address. Those from ports
	// above 1023 and those from other ports are counted separately (1024).
	MaxConnsPerAddr int

	// NoMulticast (multicast=0) leaves the NI without multicast. Otherwise group g has the
	// address MulticastBase + g, or MulticastBase6 + g on an IPv6 NI. All nodes of a net
	// have the same base and UDP port. Multicast is local policy.
	NoMulticast    bool
	MulticastBase  netip.Addr // multicast_base, default 239.76.0.0; its low 16 bits are 0
	MulticastBase6 netip.Addr // multicast_base6, default ff15::4c4e:0; its low 16 bits are 0
	MulticastPort  uint16     // multicast_port; 0: AcceptPort + 10000, or - 10000 above 55535
	MulticastTTL   int        // multicast_ttl, default 1: how many networks a datagram reaches
	// MulticastRxBuffer is the receive buffer in bytes to ask the system for
	// (multicast_rx_buffer_size, 4 MiB); Snapshot has the size that it gave.
	MulticastRxBuffer int

	// Bind makes the listening TCP socket of an address, with the options in how. It may instead
	// return a socket that another process has opened. nil: how.Listen. The returned listener must
	// have the method SyscallConn. The driver sets backlog and keepalive.
	Bind func(how net.ListenConfig, local netip.AddrPort) (net.Listener, error)
	// Listen replaces the listener of TCP in tests.
	Listen func(local netip.AddrPort) (net.Listener, error)
	// Dial replaces TCP, for tests. If it fails with EADDRINUSE or EADDRNOTAVAIL the driver tries
	// another local port, unless an os.SyscallError says that EADDRNOTAVAIL came from bind.
	Dial func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error)
	// LinkSpeed returns the speed in Mbit/s of the interface that has an
	// address, 0 if it is unknown; nil asks the system.
	LinkSpeed func(local netip.Addr) (mbps int)
}

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

// The largest values that tunables may have.
const (
	maxSeconds = 24 * 60 * 60
	maxCount   = 1 << 20
	maxBuffer  = 1 << 30
)

// maxConnsPerPeer is the largest conns_per_peer that Lustre's tools can set.
const maxConnsPerPeer = 127

// maxBusyPoll is the longest BusyPoll: the Go scheduler does not know that the reader polls,
// and a garbage collection waits for the reader.
const maxBusyPoll = 10 * time.Millisecond
