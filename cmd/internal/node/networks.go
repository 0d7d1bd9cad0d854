package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
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
