package socklnd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
)

// AcceptMode says whose connections are accepted and whether the identity in
// their HELLO is believed (the lnet tunable accept).
type AcceptMode string

// The accept modes. The first three are the kernel's.
const (
	// AcceptSecure accepts connections from ports up to 1023 only.
	AcceptSecure AcceptMode = "secure"
	// AcceptAll accepts from any port. A peer on a port above 1023 is known
	// by the net of the NI, its IPv4 address, and its port as user-flagged
	// PID, whatever its HELLO claims.
	AcceptAll AcceptMode = "all"
	// AcceptNone means that the driver does not listen.
	AcceptNone AcceptMode = "none"
	// AcceptTrust believes the HELLO from any port. Every program that reaches the
	// port can claim every NID that SourceAddress lets pass.
	AcceptTrust AcceptMode = "trust"
)

// known reports whether m is one of the accept modes, or empty for the default.
func (m AcceptMode) known() bool {
	switch m {
	case "", AcceptSecure, AcceptAll, AcceptNone, AcceptTrust:
		return true
	}
	return false
}

// maxPrivilegedPort is the last port that only the privileged may bind
// (LNET_ACCEPTOR_MAX_RESERVED_PORT).
const maxPrivilegedPort = 1023

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

// errConfig is wrapped by every error that refuses a Config.
var errConfig = errors.New("socklnd: bad configuration")

// withDefaults returns c with every zero field replaced by its default, except the fields whose
// defaults depend on the NI: see forNI.
func (c Config) withDefaults() Config {
	c.AcceptPort = cmp.Or(c.AcceptPort, 988)
	if c.Accept == "" {
		c.Accept = AcceptSecure
		if c.AcceptPort > maxPrivilegedPort {
			c.Accept = AcceptTrust
		}
	}
	c.SourceAddress = cmp.Or(c.SourceAddress, SourceAddressCheck)
	c.AcceptBacklog = cmp.Or(c.AcceptBacklog, 127)
	c.AcceptTimeout = cmp.Or(c.AcceptTimeout, 5*time.Second)
	grows := c.MaxReconnect == 0
	lnd.SetDefaults(c.Tunables())
	if grows {
		c.MaxReconnect = max(c.MaxReconnect, c.MinReconnect)
	}
	c.MaxHandshakes = cmp.Or(c.MaxHandshakes, 1024)
	c.MaxHandshakesPerAddr = cmp.Or(c.MaxHandshakesPerAddr, 256)
	c.MulticastBase = cmp.Or(c.MulticastBase, defaultBase4)
	c.MulticastBase6 = cmp.Or(c.MulticastBase6, defaultBase6)
	c.MulticastPort = cmp.Or(c.MulticastPort, multicastPortFor(c.AcceptPort))
	c.MulticastTTL = cmp.Or(c.MulticastTTL, 1)
	c.MulticastRxBuffer = cmp.Or(c.MulticastRxBuffer, 4<<20)
	c.ControlTOS = cmp.Or(c.ControlTOS, c.TOS, classCS5)
	if c.LinkSpeed == nil {
		c.LinkSpeed = linkSpeed
	}
	return c
}

// classCS5 is the TOS byte of DSCP CS5, "signaling".
const classCS5 = 40 << 2

// prioInteractive is TC_PRIO_INTERACTIVE; Linux's default queue (pfifo_fast) sends its packets
// first.
const prioInteractive = 6

// defaultTimeout is the value of lnet_lnd_timeout with LNet's defaults.
const defaultTimeout = 49 * time.Second

// forNI returns c, whose other defaults are set already, with the defaults that depend on the NI: on
// its address and on LNet's time-out for drivers.
func (c Config) forNI(addr netip.Addr, timeout time.Duration) Config {
	c.SockTimeout = cmp.Or(c.SockTimeout, timeout, defaultTimeout)
	if c.ConnsPerPeer == 0 {
		c.ConnsPerPeer = connsForSpeed(c.LinkSpeed(addr))
	}
	return c.withSockets()
}

// override returns c, whose defaults are set already, with the values of the tunables that were set for one NI.
func (c Config) override(values map[string]int) (Config, error) {
	derived := c.ControlTOS == cmp.Or(c.TOS, classCS5)
	if err := lnd.Override(c.Tunables(), values); err != nil {
		return c, fmt.Errorf("%w: %w", errConfig, err)
	}
	if _, own := values["control_tos"]; derived && !own {
		c.ControlTOS = cmp.Or(c.TOS, classCS5)
	}
	return c, nil
}

// sockets returns the options that concern sockets.
func (c Config) sockets() socketOptions {
	return socketOptions{
		tos: c.TOS, nagle: c.Nagle, txBuffer: c.TxBufferSize, rxBuffer: c.RxBufferSize,
		backlog: c.AcceptBacklog, userTimeout: c.SockTimeout, bind: c.Bind,
		controlTOS: c.ControlTOS, controlPriority: c.ControlPriority,
		keepalive: net.KeepAliveConfig{
			Enable: c.KeepaliveIdle > 0, Idle: c.KeepaliveIdle,
			Interval: c.KeepaliveInterval, Count: c.KeepaliveCount,
		},
	}
}

// open opens the listening socket of an address.
func (o socketOptions) open(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) {
	if o.bind != nil {
		return o.bind(how, local)
	}
	return how.Listen(context.Background(), "tcp", local.String())
}

// withSockets fills in TCP where no other transport was given.
func (c Config) withSockets() Config {
	opts := c.sockets()
	if c.Listen == nil {
		c.Listen = opts.listen
	}
	if c.Dial == nil {
		c.Dial = opts.dial
	}
	return c
}

// maxConnsPerPeer is the largest conns_per_peer that Lustre's tools can set.
const maxConnsPerPeer = 127

// maxBusyPoll is the longest BusyPoll: the Go scheduler does not know that the reader polls,
// and a garbage collection waits for the reader.
const maxBusyPoll = 10 * time.Millisecond

// Validate reports the first field whose value makes no sense. Zero fields
// are fine.
func (c Config) Validate() error {
	for _, f := range []struct {
		tunable string
		value   any
		ok      bool
	}{
		{"accept (want secure, all, none or trust)", c.Accept, c.Accept.known()},
		{"source_address (want check or off)", c.SourceAddress, c.SourceAddress.known()},
		{"accept_backlog", c.AcceptBacklog, c.AcceptBacklog >= 0},
		{"accept_timeout", c.AcceptTimeout, c.AcceptTimeout >= 0},
		{"max_reconnectms", c.MaxReconnect, c.MaxReconnect == 0 || c.MaxReconnect >= max(c.MinReconnect, 0)},
		{"handshakes", c.MaxHandshakes, c.MaxHandshakes >= 0},
		{"handshakes of one address", c.MaxHandshakesPerAddr, c.MaxHandshakesPerAddr >= 0},
		{"multicast_base (want 224.1.0.0 to 239.255.0.0, ending in 0.0)", c.MulticastBase, c.MulticastBase == netip.Addr{} || validBase(c.MulticastBase, true)},
		{"multicast_base6 (want a multicast address ending in :0)", c.MulticastBase6, c.MulticastBase6 == netip.Addr{} || validBase(c.MulticastBase6, false)},
		{"multicast_port (4791 is RoCE's)", c.MulticastPort, c.MulticastPort != rocePort},
		{"multicast_ttl", c.MulticastTTL, c.MulticastTTL >= 0 && c.MulticastTTL <= 255},
		{"multicast_rx_buffer_size", c.MulticastRxBuffer, c.MulticastRxBuffer >= 0},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s: %v", errConfig, f.tunable, f.value)
		}
	}
	if err := lnd.CheckTunables(c.Tunables()); err != nil {
		return fmt.Errorf("%w: %w", errConfig, err)
	}
	return nil
}
