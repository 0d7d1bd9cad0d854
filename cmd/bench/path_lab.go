package main

import (
	"net/netip"
	"os"

	"ulnet/lnd/lndtest/netlab"
)

// pathLab is a network of hosts in network namespaces, with links between them.
type pathLab struct {
	*measurement
	lab  *netlab.Lab
	port uint16 // the next port that no node uses yet
}

// inPathLab calls f with a new pathLab, or returns why there can be none; see perform.
func (b *measurement) inPathLab(f func(*pathLab)) (missing string) {
	return b.perform(func(t netlab.T) { f(&pathLab{measurement: b, lab: netlab.New(t), port: 988}) })
}

// host creates a host. The host accepts packets for any of its addresses on any of its links, as
// hosts in a network with several rails must.
func (l *pathLab) host(name string) *netlab.Host {
	h := l.lab.Host(name)
	l.check(h.Do(func() error {
		for _, scope := range []string{"all", "default"} {
			if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+scope+"/rp_filter", []byte("0"), 0); err != nil {
				return err
			}
		}
		return nil
	}))
	return h
}

// join connects two hosts by a cable. It gives them addresses in 10.80.NET.0/24, where NET is
// the argument net, and returns the cable and the addresses.
func (l *pathLab) join(a, b *netlab.Host, net byte) (*netlab.Cable, netip.Addr, netip.Addr) {
	first, second := netip.AddrFrom4([4]byte{10, 80, net, 1}), netip.AddrFrom4([4]byte{10, 80, net, 2})
	c := l.lab.Cable(a, netip.PrefixFrom(first, 24).String(), b, netip.PrefixFrom(second, 24).String())
	return c, first, second
}
