//go:build linux

package netlab

import "github.com/vishvananda/netlink"

// bridgeName is the interface that makes a host a switch.
const bridgeName = "br0"

// Switch adds a host that passes frames between its cables, which have no
// address there.
func (l *Lab) Switch(name string) *Host {
	l.t.Helper()
	h := l.Host(name)
	h.must("bridge", func() error {
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}); err != nil {
			return err
		}
		return setLink(bridgeName, true)
	})
	return h
}

func joinBridge(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMaster(link, bridge); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}
