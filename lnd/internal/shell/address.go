package shell

import (
	"fmt"
	"net"
	"net/netip"

	"ulnet/lnd/hostaddr"
)

// A Chooser chooses the IP address of an NI.
type Chooser struct {
	// Driver is the name with which all error texts begin.
	Driver string
	// Refuse returns the reason why an address cannot be that of an NI, or nil if it can.
	Refuse func(netip.Addr) error
	// None is the error for an interface of which no address can be that of an NI.
	None error
}

// Choose returns the address that name stands for. An address stands for itself, the name of an
// interface for an address of that interface, and an empty name for an address of the first
// interface that is up and not the loopback. Of an interface's addresses that are not refused,
// Choose takes the first IPv4 address or, if there is none, the first IPv6 address, in the order of
// [hostaddr.Of], which leaves temporary addresses out.
func (c Chooser) Choose(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		addr = addr.Unmap()
		if err := c.Refuse(addr); err != nil {
			return netip.Addr{}, fmt.Errorf("%s: %s: %w", c.Driver, name, err)
		}
		return addr, nil
	}
	ifaces, err := interfaces(name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s: interface %s: %w", c.Driver, name, err)
	}
	for i := range ifaces {
		if addr := c.pick(hostaddr.Of(&ifaces[i])); addr.IsValid() {
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s: interface %s: %w", c.Driver, name, c.None)
}

// interfaces returns the interface of that name, or for an empty name all interfaces that may be
// chosen.
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

// pick chooses one of the addresses of an interface, or returns the zero value if Refuse refuses all of
// them.
func (c Chooser) pick(addrs []netip.Addr) (best netip.Addr) {
	for _, addr := range addrs {
		switch {
		case c.Refuse(addr) != nil:
		case addr.Is4():
			return addr
		case !best.IsValid():
			best = addr
		}
	}
	return best
}
