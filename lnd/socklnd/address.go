package socklnd

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// errNoAddress means an interface without an address that makes a NID.
var errNoAddress = errors.New("no IPv4 address, and no IPv6 address but of the link")

// localAddr returns the address that name stands for: a local address as it
// is, that of an interface, or with an empty name that of the first interface
// that is up and not the loopback. Of an interface it is the first IPv4
// address, else the first of IPv6 that is valid beyond the link.
func localAddr(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		if addr = addr.Unmap(); !usable(addr) {
			return netip.Addr{}, fmt.Errorf("socklnd: %s: an address of the link is no NID", name)
		}
		return addr, nil
	}
	ifaces, err := interfaces(name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("socklnd: interface %s: %w", name, err)
	}
	for i := range ifaces {
		addrs, _ := ifaces[i].Addrs() // an interface that vanishes has none
		if addr := pickAddr(addrs); addr.IsValid() {
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("socklnd: interface %s: %w", name, errNoAddress)
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

// pickAddr returns the address of an interface that makes its NID, or none.
func pickAddr(addrs []net.Addr) (best netip.Addr) {
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		switch {
		case err != nil:
		case p.Addr().Is4():
			return p.Addr()
		case !best.IsValid() && usable(p.Addr()):
			best = p.Addr()
		}
	}
	return best
}

// usable reports whether a NID says enough to reach the address: one of an IPv6
// link needs the interface, too.
func usable(a netip.Addr) bool {
	return a.Is4() || a.Zone() == "" && !a.IsLinkLocalUnicast()
}
