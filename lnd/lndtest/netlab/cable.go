//go:build linux

package netlab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// carrierTimeout bounds the wait for the kernel to notice a change of a cable.
const carrierTimeout = 60 * time.Second

// Cable is a link between two hosts, with an interface in each.
type Cable struct{ ends [2]end }

// end is one end of a cable, in one host.
type end struct {
	host   *Host
	name   string   // name of the network interface
	tap    *os.File // the TAP device; nil for a veth
	pulled bool
}

// Cable joins two hosts with a pair of virtual Ethernet interfaces. Each gets
// the next interface, eth0, eth1, …, with the given address, written as a
// prefix ("10.1.0.1/24", "fd00::1/64"). The end at a switch has no address: "".
func (l *Lab) Cable(a *Host, addrA string, b *Host, addrB string) *Cable {
	l.t.Helper()
	c := &Cable{ends: [2]end{a.nextEnd(), b.nextEnd()}}
	c.make(addrA, addrB)
	return c
}

// Remake deletes the interfaces of a cable and makes them again, with the same names but other indexes.
func (c *Cable) Remake(addrA, addrB string) {
	e := &c.ends[0]
	e.host.t.Helper()
	e.host.must("delete "+e.name, func() error { // the other end goes with it
		link, err := netlink.LinkByName(e.name)
		if err != nil {
			return err
		}
		return netlink.LinkDel(link)
	})
	c.make(addrA, addrB)
}

// make makes the interfaces of a cable.
func (c *Cable) make(addrA, addrB string) {
	a, b := &c.ends[0], &c.ends[1]
	a.host.t.Helper()
	a.host.must("veth", func() error {
		pair := netlink.NewVeth(netlink.LinkAttrs{Name: a.name})
		pair.PeerName, pair.PeerNamespace = b.name, netlink.NsFd(b.host.ns.Fd())
		return netlink.LinkAdd(pair)
	})
	c.connect(addrA, addrB)
}

// nextEnd chooses the name of the host's next interface.
func (h *Host) nextEnd() end {
	e := end{host: h, name: fmt.Sprintf("eth%d", h.links)}
	h.links++
	return e
}

// connect gives the ends their addresses and brings them up.
func (c *Cable) connect(addrA, addrB string) {
	for i, addr := range []string{addrA, addrB} {
		e := &c.ends[i]
		e.host.t.Helper()
		e.host.must(e.name+" "+addr, func() error {
			if addr == "" {
				return joinBridge(e.name)
			}
			return setAddr(e.name, addr)
		})
		if e.tap != nil {
			e.host.must(e.name+" carrier", func() error { return setCarrier(e.tap, true) })
		}
	}
	c.await()
}

// Pull takes the interface of h down. The other end keeps its address and
// loses its carrier, as with a pulled plug.
func (c *Cable) Pull(h *Host) { c.set(h, false) }

// Plug brings the interface of h up again.
func (c *Cable) Plug(h *Host) { c.set(h, true) }

func (c *Cable) set(h *Host, up bool) {
	h.t.Helper()
	own := c.at(h)
	other := &c.ends[0]
	if own == other {
		other = &c.ends[1]
	}
	h.must(own.name, func() error { return setLink(own.name, up) })
	own.pulled = !up
	if other.tap != nil { // if the other end is a veth, the kernel changes its carrier by itself
		h.must(other.name+" carrier", func() error { return setCarrier(other.tap, up) })
	}
	c.await()
}

// at returns the end of the cable at a host.
func (c *Cable) at(h *Host) *end {
	h.t.Helper()
	for i := range c.ends {
		if c.ends[i].host == h {
			return &c.ends[i]
		}
	}
	h.t.Fatalf("host %s is not at this cable", h.name)
	return nil
}

// await waits until both ends have noticed the state of the cable: before that, packets would be
// lost on a cable that is plugged in, and would pass one that is pulled.
func (c *Cable) await() {
	ctx, cancel := context.WithTimeout(context.Background(), carrierTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := !c.ends[0].pulled && !c.ends[1].pulled
	for _, e := range c.ends {
		e.host.t.Helper()
		e.host.must(e.name+" carrier", func() error {
			for {
				link, err := netlink.LinkByName(e.name)
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
// usable at once, without duplicate address detection, and stay while the
// interface is down, as IPv4 addresses do.
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
		keep := "/proc/sys/net/ipv6/conf/" + name + "/keep_addr_on_down" // /proc/sys/net shows the network namespace of this thread
		if err := os.WriteFile(keep, []byte("1"), 0); err != nil {
			return err
		}
	}
	if err := netlink.AddrAdd(link, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}
