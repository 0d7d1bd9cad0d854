package o2iblnd

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// errNoAddress means an interface without an address that makes a NID.
var errNoAddress = errors.New("it has no IPv4 address, which a NID of o2ib needs: give it one, or name another interface")

// localAddr returns the address that name stands for: a local IPv4 address as it is,
// the first of an interface, or with an empty name that of the first interface
// that is up and not the loopback.
func localAddr(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		if addr = addr.Unmap(); !addr.Is4() {
			return netip.Addr{}, fmt.Errorf("o2iblnd: %s: NIDs of o2ib are IPv4 addresses alone", name)
		}
		return addr, nil
	}
	ifaces, err := interfaces(name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("o2iblnd: interface %s: %w", name, err)
	}
	for i := range ifaces {
		addrs, _ := ifaces[i].Addrs() // an interface that vanishes has none
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().Is4() {
				return p.Addr().Unmap(), nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("o2iblnd: interface %s: %w", name, errNoAddress)
}

// interfaces returns the interface of that name, or the candidates for none.
func interfaces(name string) ([]net.Interface, error) {
	if name != "" {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return nil, err
		}
		return []net.Interface{*i}, nil
	}
	all, err := net.Interfaces()
	var usable []net.Interface
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			usable = append(usable, i)
		}
	}
	return usable, err
}
