package node

import (
	"net/netip"

	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
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
	s := c.TCP
	s.Accept, s.AcceptPort = socklnd.AcceptMode(c.AcceptMode()), uint16(c.AcceptPort)
	s.AcceptBacklog, s.AcceptTimeout = c.AcceptBacklog, c.AcceptTimeout
	s.SourceAddress = socklnd.SourceAddress(c.SourceAddress)
	s.NoMulticast, s.MulticastPort = !c.Multicast, uint16(c.MulticastPort)
	s.MulticastBase, s.MulticastBase6 = groupAddr(c.MulticastBase), groupAddr(c.MulticastBase6)
	s.MulticastTTL, s.MulticastRxBuffer = c.MulticastTTL, c.MulticastRxBuffer
	return s
}

// groupAddr is the address that a configuration, which was checked, has for groups;
// the driver's own if it has none.
func groupAddr(s string) netip.Addr {
	a, _ := netip.ParseAddr(s)
	return a
}
