package socklnd

import (
	"errors"
	"syscall"
	"time"

	"ulnet/lnd"
)

// An interface such as a VLAN or a bond may be deleted and made again with the same address while the NI runs. It then
// has another index. The system has dropped the memberships with the earlier interface, and sends nothing by its index.

var _ lnd.LinkFollower = (*NI)(nil)

// LinkUp implements lnd.LinkFollower.
func (ni *NI) LinkUp() {
	c := &ni.cast
	if !c.base.IsValid() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow()
}

// follow looks up the interface with the NI's address. If that is not the one in use, it joins the groups there, and
// closes the sending socket, which is opened again for the next datagram. The caller holds mu.
func (c *casting) follow() {
	i := interfaceOf(c.ni.addr)
	before := int(c.index.Load())
	if i == nil || i.Index == before || c.ended {
		return
	}
	c.name = i.Name
	c.index.Store(int64(i.Index))
	c.limit.Store(c.payloadLimit(i.MTU))
	if c.tx != nil {
		c.tx.close()
		c.tx = nil
	}
	for _, g := range c.groups {
		_ = c.rx.leave(c.address(g), before) // memberships at an interface that is gone count towards the limit of the system
		if err := c.rx.join(c.address(g), i.Index, c.ni.addr); err != nil {
			c.ni.log.Warn("multicast: cannot join a group again after the interface was made again", "group", g, "interface", i.Name, "err", explain(err))
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
	defer c.mu.Unlock()
	if now := c.ni.clock.Now(); c.looked == 0 || now-c.looked >= seekEvery {
		c.looked = now
		c.follow()
	}
}
