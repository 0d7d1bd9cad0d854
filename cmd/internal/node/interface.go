package node

import (
	"net"
	"net/netip"

	"ulnet/lnet/nid"
)

// interfaceNames maps the addresses of this machine to the names of their interfaces.
type interfaceNames map[netip.Addr]string

// newInterfaceNames lists the addresses of this machine. It is empty if the system
// refuses to list them.
func newInterfaceNames() interfaceNames {
	names := interfaceNames{}
	all, _ := net.Interfaces()
	for _, i := range all {
		addrs, _ := i.Addrs() // an interface that vanishes has none
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				names[p.Addr().Unmap()] = i.Name
			}
		}
	}
	return names
}

// of returns the name of an NI's interface, or "" if no interface has its address. All
// of 127.0.0.0/8 belongs to the interface of 127.0.0.1.
func (names interfaceNames) of(id nid.NID) string {
	addr := id.Addr()
	if name, ok := names[addr]; ok || !addr.IsLoopback() {
		return name
	}
	return names[netip.AddrFrom4([4]byte{127, 0, 0, 1})]
}
