package gossip_test

import (
	"net"
	"net/netip"
)

// freePort returns a TCP port that is free at the moment.
func freePort() uint16 {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String()).Port()
}
