package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// layout describes the networks that join the hosts of a run. Without routers all hosts are on
// one net. With routers every other worker is on a second net, and the routers, which are
// numbered after the workers, are on both. Each rail of each net is a subnet with a switch of
// its own.
type layout struct {
	workers, routers, rails int
	net                     network
	ipv6                    bool
}

func (l layout) hosts() int { return l.workers + l.routers }

func (l layout) isRouter(host int) bool { return host >= l.workers }

// sidesOf returns the numbers of the nets on which a host is: 0, 1 or both.
func (l layout) sidesOf(host int) []int {
	switch {
	case l.isRouter(host):
		return []int{0, 1}
	case l.routers > 0:
		return []int{host % 2}
	}
	return []int{0}
}

// severalPaths reports whether a message from one worker to another can be sent by more than one path.
func (l layout) severalPaths(from, to uint8) bool {
	return l.rails > 1 || l.sidesOf(int(from))[0] != l.sidesOf(int(to))[0]
}

// netName returns the name of a net.
func (l layout) netName(side int) string {
	switch {
	case l.net == mixed:
		return []string{"tcp", "o2ib"}[side]
	case side > 0:
		return fmt.Sprintf("%s%d", l.net, side)
	}
	return string(l.net)
}

// link is one of a host's links: the number of its net, and of its rail on that net.
type link struct{ side, rail int }

// links returns the links of a host.
func (l layout) links(host int) (list []link) {
	for _, side := range l.sidesOf(host) {
		for rail := range l.rails {
			list = append(list, link{side, rail})
		}
	}
	return list
}

// subnet returns the IP network of a rail.
func (l layout) subnet(at link) netip.Prefix {
	number := byte(at.side*l.rails + at.rail)
	if l.ipv6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x77, 7: number}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, number, 0}), 24)
}

// address returns the address of a host on one of its links.
func (l layout) address(host int, at link) netip.Addr {
	b := l.subnet(at).Addr().AsSlice()
	b[len(b)-1] = byte(host + 1)
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// networks returns the networks string of a host.
func (l layout) networks(host int) string {
	var nets []string
	for _, side := range l.sidesOf(host) {
		var addrs []string
		for rail := range l.rails {
			addrs = append(addrs, l.address(host, link{side, rail}).String())
		}
		nets = append(nets, fmt.Sprintf("%s(%s)", l.netName(side), strings.Join(addrs, ",")))
	}
	return strings.Join(nets, ",")
}

// routes returns the routes of a host, in the form of the tunable routes: to the other net by
// each router.
func (l layout) routes(host int) string {
	var list []string
	for router := l.workers; router < l.hosts() && !l.isRouter(host); router++ {
		near := l.sidesOf(host)[0]
		list = append(list, fmt.Sprintf("%s %s@%s", l.netName(1-near), l.address(router, link{near, 0}), l.netName(near)))
	}
	return strings.Join(list, ";")
}

// names returns the NIDs by which operations address the workers: the first NID of each worker.
func (l layout) names() (names []string) {
	for host := range l.workers {
		side := l.sidesOf(host)[0]
		names = append(names, fmt.Sprintf("%s@%s", l.address(host, link{side, 0}), l.netName(side)))
	}
	return names
}
