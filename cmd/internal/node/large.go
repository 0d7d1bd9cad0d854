package node

import (
	"net"

	"ulnet/lnd/hostaddr"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// large returns i with its IPv6 address, so that its NI gets a large NID. It does so if LNet is
// configured with large NIDs, and i is a named interface of tcp with an IPv6 address that is not
// link-local. Otherwise it returns i unchanged.
func (n *Node) large(i networks.Interface) networks.Interface {
	if !n.largeNIDs.Load() || i.Net.Type() != nid.TCP {
		return i
	}
	named, err := net.InterfaceByName(i.Name)
	if err != nil { // i.Name is an address or empty; if it is wrong, the driver reports that
		return i
	}
	for _, a := range hostaddr.Of(named) {
		if a.Is6() && !a.IsLinkLocalUnicast() {
			i.Name = a.String()
			return i
		}
	}
	return i
}
