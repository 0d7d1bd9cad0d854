// Package loopback helps commands and tests to run several LNet nodes on one
// machine. Nodes of one net share one accept port, so each listens on a
// loopback address of its own and all on the same port.
package loopback

import (
	"fmt"
	"net"
	"net/netip"
)

// attempts is how many ports FreePort tries.
const attempts = 100

// FreePort returns a TCP port above 1023 that is free on all of the addresses
// at the moment. Nothing reserves it: listen soon.
func FreePort(addrs ...netip.Addr) (uint16, error) {
	for range attempts {
		if port, ok := tryPort(addrs); ok {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no TCP port is free on all of %v", addrs)
}

// tryPort lets the kernel choose a port for the first address and tries it on
// the others.
func tryPort(addrs []netip.Addr) (port uint16, ok bool) {
	for _, a := range addrs {
		l, err := net.Listen("tcp", netip.AddrPortFrom(a, port).String())
		if err != nil {
			return 0, false
		}
		defer l.Close()
		port = l.Addr().(*net.TCPAddr).AddrPort().Port()
	}
	return port, true
}
