package node

import (
	"net"
	"net/netip"

	"ulnet/lnet/nid"
)

// interfaceNames tells the name of the interface that an NI sits on.
type interfaceNames map[netip.Addr]string

// newInterfaceNames lists the addresses of this machine. Without any, as when
// the system refuses, no name is known.
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

// of returns the name for an NI, or "" if its address belongs to none. All of
// 127.0.0.0/8 is where 127.0.0.1 is.
func (names interfaceNames) of(id nid.NID) string {
	addr := id.Addr()
	if name, ok := names[addr]; ok || !addr.IsLoopback() {
		return name
	}
	return names[netip.AddrFrom4([4]byte{127, 0, 0, 1})]
}
