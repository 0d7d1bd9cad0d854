package node

import (
	"net"
	"net/netip"

	"ulnet/lnd/hostaddr"
	"ulnet/lnet/nid"
)

// interfaceNames maps the addresses of this machine to the names of their interfaces, and back.
type interfaceNames struct {
	names map[netip.Addr]string
	first map[string]netip.Addr // by name: the first address of the interface
}

// newInterfaceNames lists the addresses of this machine. It is empty if the system
// refuses to list them.
func newInterfaceNames() interfaceNames {
	names := interfaceNames{make(map[netip.Addr]string), make(map[string]netip.Addr)}
	all, _ := net.Interfaces()
	for _, i := range all {
		for _, a := range hostaddr.Of(&i) {
			names.add(i.Name, a)
		}
		list, _ := i.Addrs() // an interface that has just vanished has no addresses
		for _, a := range list {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				names.names[p.Addr().Unmap()] = i.Name // an NI may have a temporary address that the configuration names
			}
		}
	}
	return names
}

// add records an address of the named interface. The name stands for the interface's first IPv4
// address or, without one, for its first IPv6 address that is not link-local.
func (names interfaceNames) add(name string, addr netip.Addr) {
	names.names[addr] = name
	first, has := names.first[name]
	if !has && (addr.Is4() || !addr.IsLinkLocalUnicast()) || has && addr.Is4() && !first.Is4() {
		names.first[name] = addr
	}
}

// of returns the name of an NI's interface, or "" if no interface has its address. All addresses
// in 127.0.0.0/8 belong to the interface that has 127.0.0.1.
func (names interfaceNames) of(id nid.NID) string {
	addr := id.Addr()
	if name, ok := names.names[addr]; ok || !addr.IsLoopback() {
		return name
	}
	return names.names[netip.AddrFrom4([4]byte{127, 0, 0, 1})]
}

// stands reports whether an NI on the interface of that name would get the given NID.
func (names interfaceNames) stands(name string, id nid.NID) bool {
	first, ok := names.first[name]
	return ok && first == id.Addr()
}
