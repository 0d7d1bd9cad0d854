package socklnd

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/hostaddr"
)

// An interface such as a VLAN or a bond may be deleted and made again with the same address while the NI runs. It then
// has another index. The system has dropped the memberships with the earlier interface, and sends nothing by its index.

var _ lnd.LinkFollower = (*NI)(nil)

// LinkUp implements lnd.LinkFollower.
func (ni *NI) LinkUp() {
	if ni.cast.base.IsValid() {
		ni.cast.follow()
	}
}

// follow looks up the interface with the NI's address, and takes its MTU, which may be larger or smaller than before. If
// it is another interface than before, the NI changes to it. follow also joins the groups again that could not be joined
// before. The caller does not hold mu, which each datagram needs: looking up interfaces may take long on a host with many.
func (c *casting) follow() {
	c.following.Lock()
	defer c.following.Unlock()
	i := c.find()
	c.mu.Lock()
	defer c.mu.Unlock()
	if i == nil || c.ended {
		return
	}
	c.setLimit(i.MTU)
	moved := i.Index != int(c.index.Load())
	if moved {
		c.move(i)
	}
	c.joinAgain(moved)
}

// find returns the interface with the NI's address, or nil. It looks at all interfaces only if the one in use does not
// have the address.
func (c *casting) find() *net.Interface {
	if i, err := net.InterfaceByIndex(int(c.index.Load())); err == nil && hostaddr.Has(i, c.ni.addr) {
		return i
	}
	return c.scan(c.ni.addr)
}

// interfaceOf returns the interface that has an address, or nil.
func interfaceOf(addr netip.Addr) *net.Interface {
	i, _ := hostaddr.Interface(addr)
	return i
}

// move makes the NI use the interface i: it leaves all groups on the interface before, and closes the sending socket, which
// is opened again for the next datagram. The caller holds mu.
func (c *casting) move(i *net.Interface) {
	c.name = i.Name
	c.index.Store(int64(i.Index))
	if c.tx != nil {
		c.tx.close()
		c.tx = nil
	}
	for _, g := range c.groups {
		_ = c.leave(g) // memberships at an interface that is gone count towards the limit of the system
	}
}

// joinAgain joins the groups that are not joined on the present interface. If say is set, the log says which cannot be
// joined. The caller holds mu.
func (c *casting) joinAgain(say bool) {
	for _, g := range c.groups {
		if c.isJoined(g) {
			continue
		}
		if err := c.join(g); err != nil && say {
			c.ni.log.Warn("multicast: cannot join a group again after the interface was made again; this is tried again when a link changes", "group", g, "interface", c.name, "err", explain(err))
		}
	}
}

// isGone reports whether an error says that the interface by which a datagram is to leave does not exist.
func isGone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// seekEvery is how often the interface is looked for while datagrams fail.
const seekEvery = 250 * time.Millisecond

// seek looks for the interface after a datagram has failed because there is none, for the case that LinkUp is not
// called: the system may not let this process watch links.
func (c *casting) seek() {
	c.mu.Lock()
	now := c.ni.clock.Now()
	due := c.looked == 0 || now-c.looked >= seekEvery
	if due {
		c.looked = now
	}
	c.mu.Unlock()
	if due {
		c.follow()
	}
}
