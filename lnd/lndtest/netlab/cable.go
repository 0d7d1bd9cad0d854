//go:build linux

package netlab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// carrierTimeout bounds the wait for the kernel to notice a change of a cable.
const carrierTimeout = 10 * time.Second

// Cable is a pair of virtual Ethernet interfaces, one in each host.
type Cable struct {
	hosts  [2]*Host
	names  [2]string
	pulled [2]bool
}

// Cable joins two hosts. Each gets the next interface, eth0, eth1, …, with the
// given address, written as a prefix ("10.1.0.1/24", "fd00::1/64").
func (l *Lab) Cable(a *Host, addrA string, b *Host, addrB string) *Cable {
	l.t.Helper()
	c := &Cable{hosts: [2]*Host{a, b}}
	for i, h := range c.hosts {
		c.names[i] = fmt.Sprintf("eth%d", h.links)
		h.links++
	}
	a.must("veth", func() error {
		pair := netlink.NewVeth(netlink.LinkAttrs{Name: c.names[0]})
		pair.PeerName, pair.PeerNamespace = c.names[1], netlink.NsFd(b.ns.Fd())
		return netlink.LinkAdd(pair)
	})
	for i, addr := range []string{addrA, addrB} {
		c.hosts[i].must(c.names[i]+" "+addr, func() error { return setAddr(c.names[i], addr) })
	}
	c.await()
	return c
}

// Pull takes the interface of h down. The other end keeps its address and
// loses its carrier, as with a pulled plug.
func (c *Cable) Pull(h *Host) { c.set(h, false) }

// Plug brings the interface of h up again.
func (c *Cable) Plug(h *Host) { c.set(h, true) }

func (c *Cable) set(h *Host, up bool) {
	h.t.Helper()
	for i := range c.hosts {
		if c.hosts[i] == h {
			h.must(c.names[i], func() error { return setLink(c.names[i], up) })
			c.pulled[i] = !up
			c.await()
			return
		}
	}
	h.t.Fatalf("host %s is not at this cable", h.name)
}

// await waits until both ends have noticed the state of the cable: packets
// before that would be lost, or would still pass.
func (c *Cable) await() {
	ctx, cancel := context.WithTimeout(context.Background(), carrierTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := !c.pulled[0] && !c.pulled[1]
	for i, h := range c.hosts {
		h.t.Helper()
		h.must(c.names[i]+" carrier", func() error {
			for {
				link, err := netlink.LinkByName(c.names[i])
				if err != nil || (link.Attrs().OperState == netlink.OperUp) == want {
					return err
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return fmt.Errorf("is %v after %v", link.Attrs().OperState, carrierTimeout)
				}
			}
		})
	}
}

func setLink(name string, up bool) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if up {
		return netlink.LinkSetUp(link)
	}
	return netlink.LinkSetDown(link)
}

// setAddr gives an interface its address and brings it up. IPv6 addresses are
// usable at once, without duplicate address detection.
func setAddr(name, addr string) error {
	prefix, err := netip.ParsePrefix(addr)
	if err != nil {
		return err
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	a := &netlink.Addr{IPNet: &net.IPNet{
		IP:   prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
	}}
	if prefix.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(link, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}
