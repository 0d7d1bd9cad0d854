// Package loopback helps commands and tests to run several LNet nodes on one
// machine. Nodes of one net share one accept port, so each listens on a
// loopback address of its own and all on the same port.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
)

// attempts is how often FreePort looks for an unreserved port, and then for any port; FreeHosts looks as
// often for addresses.
const attempts = 100

// minPort is the lowest port that FreePort gives, above those of most services.
const minPort = 10_000

// FreePort returns a TCP port above 1023 that is free on all of the addresses at the moment. On Linux the
// port is reserved until this process has ended: other calls, also in other processes of this network
// namespace, try 100 other ports before they accept a reserved one. On other systems the port is not
// reserved, so the caller should listen soon. For sockets that ask for any port, the kernel chooses from
// a range of ports. FreePort returns a port outside that range, unless the range has all ports, so that
// the kernel does not give it to another process meanwhile.
func FreePort(addrs ...netip.Addr) (uint16, error) {
	kernels := kernelsOwn()
	var err error
	for i := range 2 * attempts {
		port := kernels.outside()
		if reserve(fmt.Sprintf("port %d", port)) != nil && i < attempts {
			continue // the second half of the tries takes reserved ports, too: few others may be free
		}
		if err = try(port, addrs); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("%d TCP ports tried, none is free on all of %v: %w", 2*attempts, addrs, err)
}

// try listens on a port of all addresses for a moment.
func try(port uint16, addrs []netip.Addr) error {
	for _, a := range addrs {
		l, err := net.Listen("tcp", netip.AddrPortFrom(a, port).String())
		if err != nil {
			return err
		}
		defer l.Close()
	}
	return nil
}

// portRange is the first and the last port that the kernel chooses from.
type portRange struct{ first, last int }

// kernelsOwn returns the range of ports from which the kernel chooses: the one that Linux
// reports, or the one that IANA recommends.
func kernelsOwn() portRange {
	var r portRange
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &r.first, &r.last)
	}
	if err != nil {
		return portRange{49_152, 65_535}
	}
	return r
}

// outside returns a random port from minPort up that is not in the range, or any if
// none is left.
func (r portRange) outside() uint16 {
	below := max(r.first-minPort, 0)
	above := max(65_535-max(r.last, minPort-1), 0)
	if below+above == 0 {
		return uint16(minPort + rand.N(65_536-minPort))
	}
	n := rand.N(below + above)
	if n < below {
		return uint16(minPort + n)
	}
	return uint16(65_535 - (n - below))
}
