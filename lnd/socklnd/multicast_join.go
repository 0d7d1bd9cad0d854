package socklnd

import (
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnd"
)

// Join implements lnd.Multicaster.
func (ni *NI) Join(g lnd.Group) error {
	c := &ni.cast
	if !g.IsValid() {
		return syscall.EINVAL
	}
	if !c.base.IsValid() {
		return fmt.Errorf("socklnd: no multicast at %v: %w", ni.addr, syscall.EOPNOTSUPP)
	}
	c.follow()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return syscall.ESHUTDOWN
	case c.isJoined(g):
		return nil
	}
	if err := c.listen(); err != nil {
		return fmt.Errorf("socklnd: UDP port %d for multicast: %w", ni.cfg.MulticastPort, explain(err))
	}
	if err := c.join(g); err != nil {
		return fmt.Errorf("socklnd: join %v on %s: %w", c.address(g), c.name, explain(err))
	}
	if !slices.Contains(c.groups, g) {
		c.setGroups(append(slices.Clone(c.groups), g))
	}
	return nil
}

// isJoined reports whether a group is joined on the present interface. The caller holds mu.
func (c *casting) isJoined(g lnd.Group) bool { return c.at[g] == int(c.index.Load()) }

// join makes the system join a group on the present interface. The caller holds mu.
func (c *casting) join(g lnd.Group) error {
	index := int(c.index.Load())
	err := c.rx.join(c.address(g), index, c.ni.addr)
	if err == nil {
		c.at[g] = index
	}
	return err
}

// leave makes the system leave a group, if it is joined on any interface. The caller holds mu.
func (c *casting) leave(g lnd.Group) error {
	index, ok := c.at[g]
	if !ok {
		return nil
	}
	delete(c.at, g)
	return c.rx.leave(c.address(g), index)
}

// setGroups publishes the list of groups. The caller holds mu.
func (c *casting) setGroups(list []lnd.Group) {
	c.groups = list
	c.joined.Store(&list)
}

// Leave implements lnd.Multicaster. The socket stays for the next group.
func (ni *NI) Leave(g lnd.Group) error {
	c := &ni.cast
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.groups, g)
	if i < 0 || c.ended {
		return nil
	}
	c.setGroups(slices.Delete(slices.Clone(c.groups), i, i+1))
	if err := c.leave(g); err != nil {
		return fmt.Errorf("socklnd: leave %v on %s: %w", c.address(g), c.name, err)
	}
	return nil
}
