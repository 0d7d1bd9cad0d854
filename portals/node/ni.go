package node

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// StartError is the error of an NI that did not start. It unwraps to Err.
type StartError struct {
	Interface networks.Interface // the interface as Config.Networks names it
	Err       error              // error of the driver or of the message layer
	Advice    string             // what to do next, in the words of [Config]
}

func (e *StartError) Error() string {
	return fmt.Sprintf("node: %v: %v: %s", e.Interface, e.Err, e.Advice)
}

// Unwrap returns the error of the driver or the message layer.
func (e *StartError) Unwrap() error { return e.Err }

// DriverError says that there is no driver for the type of a network. It unwraps to EINVAL,
// which is LNet's error for a type that it does not know.
type DriverError struct {
	Net nid.Net // the network that has no driver
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("network %v: no driver for this type", e.Net)
}

// Unwrap returns the error number EINVAL.
func (*DriverError) Unwrap() error { return syscall.EINVAL }

// DownError says that an interface is down. It unwraps to ENETDOWN.
type DownError struct {
	Interface string // name of the network interface, such as "eth0"
}

func (e *DownError) Error() string {
	return fmt.Sprintf("interface %s is down: %v", e.Interface, syscall.ENETDOWN)
}

// Unwrap returns the error number ENETDOWN.
func (*DownError) Unwrap() error { return syscall.ENETDOWN }

// AddNI starts an NI on a network of type tcp, o2ib or one of Config.Drivers and adds it to the
// node. By default Tunables and Tap are those of [Config], and the incarnation is the time at
// which the NI starts, in the unit of its network type. All other fields come from the node.
// The peers that discovery knows are told of the NI. The error is a *[StartError], which wraps
// the error of lnet.Node.AddNI, a *[DriverError] or a *[DownError].
func (n *Node) AddNI(cfg lnd.Config) (*lnet.NI, error) {
	ni, err := n.addNI(cfg)
	if err != nil {
		i := networks.Interface{Net: cfg.Net, Name: cfg.Interface}
		return nil, &StartError{Interface: i, Err: err, Advice: n.advice(i, err)}
	}
	return ni, nil
}

func (n *Node) addNI(cfg lnd.Config) (*lnet.NI, error) {
	driver := n.driverOf(cfg.Net)
	if driver == nil {
		return nil, &DriverError{cfg.Net}
	}
	if err := checkUp(cfg.Interface); err != nil {
		return nil, err
	}
	if cfg.Tunables == (lnd.Tunables{}) {
		cfg.Tunables = n.cfg.Tunables
	}
	if cfg.Tap == nil {
		cfg.Tap = n.cfg.Tap
	}
	cfg.Incarnation = cmp.Or(cfg.Incarnation, driver.stamp(time.Now()))
	ni, err := n.lnet.AddNI(driver.Driver, cfg)
	if err == nil && driver.watched {
		n.links.follow(ni)
	}
	return ni, err
}

// checkUp returns an error if an interface is down, because ksocklnd ignores interfaces that are
// down. If no interface has the name, checkUp leaves the error to the driver.
func checkUp(name string) error {
	i, err := net.InterfaceByName(name)
	if err != nil || i.Flags&net.FlagUp != 0 {
		return nil
	}
	return &DownError{name}
}

// advice returns what a user can do about the usual failures of an NI.
func (n *Node) advice(i networks.Interface, err error) string {
	if _, ok := errors.AsType[*DriverError](err); ok {
		return "there are drivers for " + n.types()
	}
	if down, ok := errors.AsType[*DownError](err); ok {
		return fmt.Sprintf("'ip link set %s up' brings it up", down.Interface)
	}
	if driver := n.driverOf(i.Net); driver.advice != nil {
		if advice := driver.advice(err); advice != "" {
			return advice
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "Networks names an address that is not on this machine: see 'ip address'"
	case errors.Is(err, syscall.EEXIST):
		return "Networks names one address twice on a network"
	case errors.Is(err, syscall.ESHUTDOWN):
		return "the node was closed: start another one"
	}
	return "see Networks; 'ip address' lists interfaces and addresses"
}
