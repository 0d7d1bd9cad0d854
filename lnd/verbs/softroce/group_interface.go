package softroce

import (
	"fmt"
	"net"
	"net/netip"
)

// interfaceOf returns the interface that has an address.
func interfaceOf(addr netip.Addr) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if has(&all[i], addr) {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("no interface has the address %v", addr)
}

// has reports whether an interface has an address. The loopback has all of 127.0.0.0/8.
func has(i *net.Interface, addr netip.Addr) bool {
	return hasAddr(i, addr) || addr.Is4() && addr.IsLoopback() && i.Flags&net.FlagLoopback != 0
}

func hasAddr(i *net.Interface, addr netip.Addr) bool {
	list, err := i.Addrs()
	if err != nil {
		return false
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr.WithZone("") {
			return true
		}
	}
	return false
}
