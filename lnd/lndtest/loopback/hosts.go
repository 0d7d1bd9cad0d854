package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// rocePort is the UDP port of RoCEv2, which cannot be chosen: nodes on RDMA differ
// by their addresses alone.
const rocePort = 4791

// FreeHosts returns n addresses on which the UDP port of RoCEv2 is free at the moment. The
// first ends in .1, and each is above the one before. They are reserved as the ports of
// [FreePort] are.
func FreeHosts(n int) ([]netip.Addr, error) {
	if n < 1 || n > 250 {
		return nil, fmt.Errorf("%d loopback addresses: want 1 to 250", n)
	}
	for range attempts {
		// Avoid lower addresses, which people often use, and much higher ones, which tests often name.
		hosts := hostsOf(64+rand.N(128), rand.N(256), n)
		if reserve(fmt.Sprintf("hosts after %v", hosts[0])) == nil && free(hosts) {
			return hosts, nil
		}
	}
	return nil, fmt.Errorf("no %d loopback addresses with a free UDP port %d", n, rocePort)
}

func hostsOf(second, third, n int) (hosts []netip.Addr) {
	for i := range n {
		hosts = append(hosts, netip.AddrFrom4([4]byte{127, byte(second), byte(third), byte(i + 1)}))
	}
	return hosts
}

// free reports whether the UDP port of RoCEv2 is free on all of the given addresses.
func free(hosts []netip.Addr) bool {
	for _, a := range hosts {
		c, err := net.ListenPacket("udp4", netip.AddrPortFrom(a, rocePort).String())
		if err != nil {
			return false
		}
		defer c.Close()
	}
	return true
}
