package main

import (
	"net/netip"
	"os"

	"ulnet/lnd/lndtest/netlab"
)

// pathLab has hosts in network namespaces with links between them.
type pathLab struct {
	*measurement
	lab  *netlab.Lab
	port uint16 // the next port that no node uses
}

// inPathLab calls f in a network lab; see perform.
func (b *measurement) inPathLab(f func(*pathLab)) (missing string) {
	return b.perform(func(t netlab.T) { f(&pathLab{measurement: b, lab: netlab.New(t), port: 988}) })
}

// host makes a host that accepts packets for an address of its own on any of its links, as
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

// join joins two hosts by a cable with addresses of 10.80.NET.0/24, and returns these.
func (l *pathLab) join(a, b *netlab.Host, net byte) (*netlab.Cable, netip.Addr, netip.Addr) {
	first, second := netip.AddrFrom4([4]byte{10, 80, net, 1}), netip.AddrFrom4([4]byte{10, 80, net, 2})
	c := l.lab.Cable(a, netip.PrefixFrom(first, 24).String(), b, netip.PrefixFrom(second, 24).String())
	return c, first, second
}
