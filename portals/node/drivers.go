package node

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
)

// driver is an LND of a node, with what is particular to its type when an NI starts.
type driver struct {
	lnd.Driver
	// stamp converts the time at which an NI starts to the incarnation that it tells its
	// peers, in the unit that kernels use on this type of network.
	stamp func(time.Time) uint64
	// advice returns what a user can do if an NI could not be started. If advice is nil or
	// returns "", the advice for all types is given.
	advice func(error) string
	// watched says that an NI has the link state of the system's interface with the NI's address.
	watched bool
}

// makeDrivers makes the drivers that every node has, and takes those of Config.Drivers.
func (n *Node) makeDrivers() error {
	tcp, err := socklnd.New(n.cfg.TCP)
	if err != nil {
		return err
	}
	o2ib, err := o2iblnd.New(n.cfg.O2IB)
	if err != nil {
		return err
	}
	for _, d := range n.cfg.Drivers {
		n.drivers = append(n.drivers, driver{Driver: d, stamp: nanoseconds})
	}
	n.drivers = append(n.drivers,
		driver{tcp, nanoseconds, adviceTCP, true},
		driver{o2ib, func(t time.Time) uint64 { return uint64(t.UnixMicro()) }, adviceO2IB, true})
	for i := range n.drivers {
		n.drivers[i].Driver = n.cfg.Wrap(n.drivers[i].Driver)
	}
	return nil
}

func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }

// driverOf returns the driver of a net, nil if there is none.
func (n *Node) driverOf(net nid.Net) *driver {
	i := slices.IndexFunc(n.drivers, func(d driver) bool { return d.Type() == net.Type() })
	if i < 0 {
		return nil
	}
	return &n.drivers[i]
}

// types lists the network types that have drivers, for errors.
func (n *Node) types() string {
	var names []string
	for _, d := range n.drivers {
		names = append(names, d.Type().String())
	}
	return strings.Join(names, ", ") + " and lo"
}

func adviceTCP(err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return "choose an AcceptPort above 1023 on all nodes, or DialOnly, or give the program CAP_NET_BIND_SERVICE"
	case errors.Is(err, syscall.EADDRINUSE):
		return "something listens on that port, perhaps lnetd: name another address in Networks, or another AcceptPort on all nodes"
	}
	return ""
}

func adviceO2IB(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "something has UDP port 4791 of that address, another node or the kernel's software RoCE: name another address in Networks"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ESHUTDOWN):
		return ""
	}
	return "see Networks; 'ip address' lists interfaces and addresses, of which o2ib needs one of IPv4"
}
