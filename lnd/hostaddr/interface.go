package hostaddr

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Interface returns the interface of this host that has an address.
func Interface(addr netip.Addr) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if Has(&all[i], addr) {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("no interface has the address %v", addr)
}

// Has reports whether an interface has an address. The loopback has all of 127.0.0.0/8. An interface that has just
// vanished has no addresses.
func Has(i *net.Interface, addr netip.Addr) bool {
	if addr.Is4() && addr.IsLoopback() && i.Flags&net.FlagLoopback != 0 {
		return true
	}
	list, _ := i.Addrs()
	return slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr() == addr.WithZone("")
	})
}
