package node

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// ConfigureRequest configures LNet on the node, or takes it down.
type ConfigureRequest struct {
	Up  bool `json:"up"`  // true: configure LNet; false: take it down, which stops its networks
	All bool `json:"all"` // with Up: start the networks, peers, rules and routes of the configuration, with those of the file LNetConf, too
	// Large, with up: named interfaces of tcp that have an IPv6 address get large NIDs of that
	// address.
	Large bool `json:"large,omitempty"`
}

// Configure configures LNet on the node, or takes it down. While LNet is down, the node has no
// networks, routes, rules and peers, and accepts none. Settings stay as they are; whether the node is a router is as configured. Configure does nothing
// if the node is already in the wanted state. An error says what could not be started; LNet is then as it
// was before. Configure first waits for the end of a running reload.
func (n *Node) Configure(ctx context.Context, r ConfigureRequest) (gone RemovedNet, err error) {
	defer n.change()()
	if !r.Up {
		return n.unconfigure(ctx)
	}
	if !n.unconfigured.CompareAndSwap(true, false) {
		return gone, nil
	}
	if n.largeNIDs.Store(r.Large); !r.All {
		return gone, nil
	}
	if err := n.startConfigured(ctx); err != nil {
		gone, bad := n.unconfigure(context.WithoutCancel(ctx)) // ctx may have ended and so have interrupted the import
		return gone, errors.Join(err, bad)
	}
	return gone, nil
}

// change waits until no other change of the configuration runs, and begins one, which lasts until end is called.
func (n *Node) change() (end func()) {
	n.reloading.Lock()
	n.changes.Add(1)
	return func() {
		n.changes.Add(1)
		n.reloading.Unlock()
	}
}

// startConfigured starts the networks, peers, rules and routes of the configuration, with those of the
// file LNetConf.
func (n *Node) startConfigured(ctx context.Context) error {
	cfg := n.current.Load()
	list, err := cfg.Nets()
	if err != nil {
		return err
	}
	if err := n.startNets(list); err != nil {
		return err
	}
	if cfg.IsRouter() {
		if err := n.lnet.StartAsRouter(); err != nil {
			return err
		}
	}
	if err := n.startPolicy(); err != nil {
		return err
	}
	return n.importAgain(ctx)
}

// unconfigure takes LNet down. Queued messages have a few seconds to leave.
func (n *Node) unconfigure(ctx context.Context) (gone RemovedNet, err error) {
	if n.unconfigured.Swap(true) {
		return gone, nil
	}
	errs := []error{n.setRouting(false), n.RemoveUDSP(RemoveUDSP{All: true})}
	n.changing.Lock()
	defer n.changing.Unlock()
	n.lnet.DeleteRoutes(func(route.Route) bool { return true })
	errs = append(errs, n.forgetPeers())
	nis := slices.DeleteFunc(n.lnet.NIs(), func(ni *lnet.NI) bool { return ni.NID().IsLo() })
	return removed(n.remove(ctx, nis)), errors.Join(errs...)
}

// forgetPeers removes all peers.
func (n *Node) forgetPeers() (err error) {
	for page := (PeerPage{Next: new(nid.NID)}); page.Next != nil; {
		page = n.Peers(*page.Next, MaxPeerPage)
		for _, p := range page.Known {
			if bad := n.base.Discovery().RemovePeer(p.Primary, nil); !errors.Is(bad, syscall.ENOENT) {
				err = errors.Join(err, bad)
			}
		}
	}
	return err
}

// checkConfigured returns an error with the given errno if LNet is down. A caller that adds something holds the lock
// under which unconfigure removes such things afterwards, so that nothing is added behind its back.
func (n *Node) checkConfigured(errno syscall.Errno) error {
	if n.unconfigured.Load() {
		return cli.Hint(cli.Errnof(errno, "LNet is not configured on the node"), "'lnetctl lnet configure' configures it, with --all as lnetd is configured")
	}
	return nil
}
