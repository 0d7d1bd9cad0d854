package node

import (
	"net/netip"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
)

// lndTunables returns the tunables that all drivers share.
func lndTunables(c config.Config) lnd.Tunables {
	return lnd.Tunables{
		PeerTimeout: c.PeerTimeout, PeerCredits: c.PeerCredits,
		PeerBufferCredits: c.PeerBufferCredits, Credits: c.Credits,
		Timeout: lnd.Timeout(c.TransactionTimeout, c.RetryCount),
	}
}

// socklndConfig returns the configuration of the TCP driver.
func socklndConfig(c config.Config) socklnd.Config {
	return socklnd.Config{
		Accept:              socklnd.AcceptMode(c.AcceptMode()),
		AcceptPort:          uint16(c.AcceptPort),
		AcceptBacklog:       c.AcceptBacklog,
		AcceptTimeout:       c.AcceptTimeout,
		SourceAddress:       socklnd.SourceAddress(c.SourceAddress),
		SockTimeout:         c.SockTimeout,
		Untyped:             !c.TypedConns,
		ConnsPerPeer:        c.ConnsPerPeer,
		MinBulk:             c.MinBulk,
		FirstIdle:           !c.RoundRobin,
		MinReconnect:        c.MinReconnect,
		MaxReconnect:        c.MaxReconnect,
		Keepalive:           offIfZero(c.Keepalive),
		KeepaliveIdle:       offIfZero(c.KeepaliveIdle),
		KeepaliveInterval:   c.KeepaliveInterval,
		KeepaliveCount:      c.KeepaliveCount,
		Protocol:            ksock.Version(c.Protocol),
		Checksum:            c.EnableCsum,
		InjectChecksumError: c.InjectCsumError,
		TOS:                 max(c.TOS, 0),
		Nagle:               c.Nagle,
		TxBufferSize:        c.TxBufferSize,
		RxBufferSize:        c.RxBufferSize,
		ControlTOS:          c.ControlTOS,
		ControlPriority:     noneIfZero(c.ControlPriority),
		MaxConns:            c.MaxConns,
		MaxConnsPerAddr:     c.MaxConnsPerAddr,
		BusyPoll:            c.BusyPoll,
		NoMulticast:         !c.Multicast,
		MulticastPort:       uint16(c.MulticastPort),
		MulticastBase:       groupAddr(c.MulticastBase),
		MulticastBase6:      groupAddr(c.MulticastBase6),
		MulticastTTL:        c.MulticastTTL,
		MulticastRxBuffer:   c.MulticastRxBuffer,
	}
}

// groupAddr is the address that a configuration, which was checked, has for groups;
// the driver's own if it has none.
func groupAddr(s string) netip.Addr {
	a, _ := netip.ParseAddr(s)
	return a
}

// noneIfZero translates a 0 that is meant into the driver's negative value.
func noneIfZero(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// offIfZero translates "0 turns it off" into the driver's negative value.
func offIfZero(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
