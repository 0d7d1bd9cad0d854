package socklnd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
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
	// AcceptNone does not listen.
	AcceptNone AcceptMode = "none"
	// AcceptTrust believes the HELLO from any port. Whoever reaches the port
	// can claim every NID.
	AcceptTrust AcceptMode = "trust"
)

// maxPrivilegedPort is the last port that only the privileged may bind
// (LNET_ACCEPTOR_MAX_RESERVED_PORT).
const maxPrivilegedPort = 1023

// Config holds the tunables of socklnd under Lustre's names. The zero value
// of a field means its default.
type Config struct {
	Accept        AcceptMode    // accept: secure, but trust where AcceptPort is above 1023
	AcceptPort    uint16        // accept_port, 988; also the port that is dialled
	AcceptBacklog int           // accept_backlog, 127
	AcceptTimeout time.Duration // accept_timeout, 5 s: for each read of a handshake

	// SockTimeout (sock_timeout, 50 s) bounds a connection attempt and the
	// time without progress on a message that is partly received or waits to
	// be sent. It is noticed within 1.25 × SockTimeout.
	SockTimeout  time.Duration
	Untyped      bool          // typed_conns=0: connections of type ANY, in version 2
	ConnsPerPeer int           // conns_per_peer, 1: of each bulk type, at most 127
	MinBulk      int           // min_bulk, 1024 bytes: messages from here on leave on BULK_OUT
	MinReconnect time.Duration // min_reconnectms, 1 s
	MaxReconnect time.Duration // max_reconnectms, 60 s

	Keepalive         time.Duration // keepalive, 30 s of silence before a NOOP; negative: none
	KeepaliveIdle     time.Duration // keepalive_idle, 30 s, of TCP; negative: no TCP keepalive
	KeepaliveInterval time.Duration // keepalive_intvl, 5 s
	KeepaliveCount    int           // keepalive_count, 5

	TOS          int  // tos, 0..255; 0: the system's
	Nagle        bool // nagle
	TxBufferSize int  // tx_buffer_size, bytes; 0: the system's
	RxBufferSize int  // rx_buffer_size, bytes; 0: the system's

	// MaxHandshakes bounds the accepted connections that have not finished
	// their handshake (1024), MaxHandshakesPerAddr those from one address
	// (256). Above, the oldest is closed for each new one. Local policy.
	MaxHandshakes        int
	MaxHandshakesPerAddr int

	// Listen and Dial replace TCP, for tests. A Dial that fails with
	// EADDRINUSE or EADDRNOTAVAIL is tried again from another local port, unless
	// an os.SyscallError says that EADDRNOTAVAIL is bind's.
	Listen func(local netip.AddrPort) (net.Listener, error)
	Dial   func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error)
}

// ErrConfig is the class of all refusals of a Config.
var ErrConfig = errors.New("socklnd: bad configuration")

// withDefaults returns c with every zero field replaced by its default.
func (c Config) withDefaults() Config {
	c.AcceptPort = or(c.AcceptPort, 988)
	if c.Accept == "" {
		c.Accept = AcceptSecure
		if c.AcceptPort > maxPrivilegedPort {
			c.Accept = AcceptTrust
		}
	}
	c.AcceptBacklog = or(c.AcceptBacklog, 127)
	c.AcceptTimeout = or(c.AcceptTimeout, 5*time.Second)
	c.SockTimeout = or(c.SockTimeout, 50*time.Second)
	c.ConnsPerPeer = or(c.ConnsPerPeer, 1)
	c.MinBulk = or(c.MinBulk, 1024)
	c.MinReconnect = or(c.MinReconnect, time.Second)
	c.MaxReconnect = or(c.MaxReconnect, max(time.Minute, c.MinReconnect))
	c.Keepalive = or(c.Keepalive, 30*time.Second)
	c.KeepaliveIdle = or(c.KeepaliveIdle, 30*time.Second)
	c.KeepaliveInterval = or(c.KeepaliveInterval, 5*time.Second)
	c.KeepaliveCount = or(c.KeepaliveCount, 5)
	c.MaxHandshakes = or(c.MaxHandshakes, 1024)
	c.MaxHandshakesPerAddr = or(c.MaxHandshakesPerAddr, 256)
	return c.withSockets()
}

// withSockets fills in TCP where no other transport was given.
func (c Config) withSockets() Config {
	opts := socketOptions{
		tos: c.TOS, nagle: c.Nagle, txBuffer: c.TxBufferSize, rxBuffer: c.RxBufferSize,
		backlog: c.AcceptBacklog, userTimeout: c.SockTimeout,
		keepalive: net.KeepAliveConfig{
			Enable: c.KeepaliveIdle > 0, Idle: c.KeepaliveIdle,
			Interval: c.KeepaliveInterval, Count: c.KeepaliveCount,
		},
	}
	if c.Listen == nil {
		c.Listen = opts.listen
	}
	if c.Dial == nil {
		c.Dial = opts.dial
	}
	return c
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// maxConnsPerPeer is the largest conns_per_peer that Lustre's tools can set.
const maxConnsPerPeer = 127

// Validate reports the first field whose value makes no sense. Zero fields
// are fine.
func (c Config) Validate() error {
	bad := func(tunable string, value any) error {
		return fmt.Errorf("%w: %s: %v", ErrConfig, tunable, value)
	}
	switch c.Accept {
	case "", AcceptSecure, AcceptAll, AcceptNone, AcceptTrust:
	default:
		return bad("accept (want secure, all, none or trust)", c.Accept)
	}
	switch {
	case c.AcceptBacklog < 0:
		return bad("accept_backlog", c.AcceptBacklog)
	case c.AcceptTimeout < 0:
		return bad("accept_timeout", c.AcceptTimeout)
	case c.SockTimeout < 0:
		return bad("sock_timeout", c.SockTimeout)
	case c.ConnsPerPeer < 0 || c.ConnsPerPeer > maxConnsPerPeer:
		return bad("conns_per_peer", c.ConnsPerPeer)
	case c.MinBulk < 0:
		return bad("min_bulk", c.MinBulk)
	case c.MinReconnect < 0:
		return bad("min_reconnectms", c.MinReconnect)
	case c.MaxReconnect < 0 || c.MaxReconnect > 0 && c.MaxReconnect < c.MinReconnect:
		return bad("max_reconnectms", c.MaxReconnect)
	case c.TOS < 0 || c.TOS > 255:
		return bad("tos", c.TOS)
	case c.TxBufferSize < 0:
		return bad("tx_buffer_size", c.TxBufferSize)
	case c.RxBufferSize < 0:
		return bad("rx_buffer_size", c.RxBufferSize)
	}
	return nil
}
