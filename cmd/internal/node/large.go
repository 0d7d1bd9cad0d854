package node

import (
	"net"
	"net/netip"

	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// large returns i by its IPv6 address, so that its NI gets a large NID: where LNet is configured with
// large NIDs, of an interface of tcp that is named and has an address of IPv6 besides those of the link.
// Else it returns i as it is.
func (n *Node) large(i networks.Interface) networks.Interface {
	if !n.largeNIDs.Load() || i.Net.Type() != nid.TCP {
		return i
	}
	named, err := net.InterfaceByName(i.Name)
	if err != nil { // i.Name is an address, or nothing; the driver says so if it is wrong
		return i
	}
	addrs, _ := named.Addrs() // an interface that has just vanished has no addresses
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is6() && !p.Addr().IsLinkLocalUnicast() {
			i.Name = p.Addr().String()
			return i
		}
	}
	return i
}
