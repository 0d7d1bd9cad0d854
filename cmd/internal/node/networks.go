package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// AddRequest names the networks to start.
type AddRequest struct {
	Networks string `json:"networks"` // networks string, as in the configuration, such as tcp1(eth1)
	// IP2Nets has rules, as in the configuration, instead of Networks.
	IP2Nets string `json:"ip2nets,omitempty"`
	NISettings
}

// RemoveRequest names the network to stop, or one NI of it.
type RemoveRequest struct {
	Net string  `json:"net"`          // name of the network, such as tcp1
	NID nid.NID `json:"nid,omitzero"` // NID of the NI; absent: all NIs of the network
}

// RemovedNet says what went wrong when NIs were removed. They are gone all the same.
type RemovedNet struct {
	Warnings []string `json:"warnings,omitempty"` // such as a number of messages that could not be sent
}

// removeTimeout is how long messages may take to leave an NI that is removed.
const removeTimeout = 5 * time.Second

// AddNetworks starts the NIs of more networks, all or none, and pushes the change to the peers
// that discovery knows. Errors carry the errno of LNetNIInit:
//
//	EINVAL     no networks, no driver for them, or an invalid tunable
//	EEXIST     the node has an NI with this NID
//	ENETDOWN   an interface does not exist, is down or has no address
//	ESHUTDOWN  the node is going down, or is down
//
// and the errno of the listener, such as EADDRINUSE, where kernels return ENETDOWN.
func (n *Node) AddNetworks(r AddRequest) error {
	list, err := r.interfaces()
	if err != nil {
		return err
	}
	start := make([]niStart, len(list))
	for i, on := range list {
		start[i] = niStart{on, r.NISettings}
	}
	return n.startAll(start)
}

// interfaces returns the NIs that a request names. ENOENT: no rule matches an address of this
// host.
func (r AddRequest) interfaces() ([]networks.Interface, error) {
	if r.IP2Nets != "" {
		local, err := LocalAddresses()
		if err != nil {
			return nil, err
		}
		if err := networks.CheckIP2Nets(r.IP2Nets); err != nil {
			return nil, fmt.Errorf("%w: %w", syscall.EINVAL, err)
		}
		if r.Networks, err = networks.ForAddresses(r.IP2Nets, local); err != nil {
			return nil, fmt.Errorf("%w: %w", syscall.ENOENT, err)
		}
	}
	list, err := networks.Parse(r.Networks)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", syscall.EINVAL, err)
	}
	return list, nil
}

// RemoveNet stops the NIs of a net and pushes the change to the peers that discovery knows. It
// waits up to removeTimeout for queued messages to be sent; messages that injected faults hold
// back fail at once. ENOENT: the node is not on that net, or has no such NI.
func (n *Node) RemoveNet(ctx context.Context, r RemoveRequest) (gone RemovedNet, err error) {
	net, err := nid.ParseNet(r.Net)
	if err != nil {
		return gone, fmt.Errorf("%w: %w", syscall.EINVAL, err)
	}
	if net.Type() == nid.Lo {
		return gone, fmt.Errorf("%v belongs to every node: %w", net, syscall.EINVAL)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	var leaving []*lnet.NI
	for _, ni := range n.lnet.NIs() {
		if ni.NID().Net() == net && (!r.NID.IsValid() || ni.NID() == r.NID) {
			leaving = append(leaving, ni)
		}
	}
	if len(leaving) == 0 {
		return gone, cli.Hint(cli.Errnof(syscall.ENOENT, "the node has no interface on %v", net), "'lnetctl net show' lists the networks of the node")
	}
	return removed(n.remove(ctx, leaving)), nil
}

// removed makes warnings of the error of remove.
func removed(err error) (gone RemovedNet) {
	if err != nil {
		gone.Warnings = strings.Split(err.Error(), "\n")
	}
	return gone
}

// remove stops NIs, and takes them from the node even if it returns an error. The error says how many messages could
// not be sent, or that a driver has not ended in time.
func (n *Node) remove(ctx context.Context, list []*lnet.NI) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	var errs []error
	for _, ni := range list {
		fault.Close(ni.Lower()) // otherwise an injected pause would hold all messages
		n.origins.forget(ni.NID())
		errs = append(errs, n.lnet.RemoveNI(ctx, ni))
	}
	return errors.Join(errs...)
}

// niStart is an NI to start.
type niStart struct {
	on  networks.Interface // the network and the interface of the NI
	own NISettings         // the settings of this NI alone
}

// startNets starts the NIs of networks: all of them, or none.
func (n *Node) startNets(nets []tree.Net) error {
	var list []niStart
	for _, net := range nets {
		for _, ni := range net.NIs {
			on, err := ni.On(net.Type)
			if err != nil {
				return err
			}
			list = append(list, niStart{on, settingsOf(ni)})
		}
	}
	return n.startAll(list)
}

// startAll starts NIs: all of them, or none. ESHUTDOWN: LNet is down.
func (n *Node) startAll(list []niStart) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if err := n.checkConfigured(syscall.ESHUTDOWN); err != nil {
		return err
	}
	var added []*lnet.NI
	for _, i := range list {
		ni, err := n.startNI(i)
		if err != nil {
			return errors.Join(err, n.remove(context.Background(), added))
		}
		added = append(added, ni)
	}
	return nil
}

// startNI starts one NI.
func (n *Node) startNI(i niStart) (*lnet.NI, error) {
	driver := n.cfg.Of(i.on.Net.Type())
	cfg := lnd.Config{Net: i.on.Net, Interface: n.large(i.on).Name, Tunables: driver.NI(n.cfg.LND())}
	if err := n.override(driver, &cfg, i.own); err != nil {
		return nil, err
	}
	ni, err := n.base.AddNI(cfg)
	if d, can := driver.(drivers.DialOnly); can && n.cfg.MayNotListen && errors.Is(err, syscall.EACCES) {
		n.dialsOnly = true
		ni, err = n.addDialling(d, cfg)
	}
	if err == nil {
		n.origins.keep(ni.NID(), origin{i.on.Name, i.own.CPT})
	}
	return ni, n.explain(driver, err)
}

// addDialling adds an NI that opens connections but does not listen.
func (n *Node) addDialling(d drivers.DialOnly, cfg lnd.Config) (*lnet.NI, error) {
	driver, err := d.DialOnly(n.cfg.Settings)
	if err != nil {
		return nil, err
	}
	cfg.Incarnation, cfg.Tap = uint64(time.Now().UnixNano()), n.cfg.Tap
	return n.lnet.AddNI(fault.Wrap(driver, n.plan), cfg)
}

// explain replaces the advice in the error of an NI that did not start by a hint for users of
// the commands.
func (n *Node) explain(driver drivers.Driver, err error) error {
	if failed, ok := errors.AsType[*node.StartError](err); ok { // the error of addDialling has another type, and carries no advice
		_, down := errors.AsType[*node.DownError](err)
		_, unknown := errors.AsType[*node.DriverError](err)
		if err = failed.Err; down || unknown {
			return cli.Hint(err, "%s", failed.Advice)
		}
	}
	if err == nil {
		return nil
	}
	return cli.Hint(err, "%s", driver.HintStart(n.cfg.Settings, err))
}

// interfaceOf returns the network and the interface, or the address, of an NI of a file.
func interfaceOf(net string, ni tree.NI) (networks.Interface, error) {
	on, err := ni.On(net)
	if err == nil && on.Name == "" {
		err = cli.Errnof(syscall.EINVAL, "an NI on %s needs an interface or a NID", net)
	}
	return on, err
}
