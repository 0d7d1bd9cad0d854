// Package node assembles a whole LNet node from its configuration: the message
// layer, the portal table, discovery and the drivers. lnetd runs one;
// lnetctl runs one for the time of a command when there is no daemon.
//
// On top stands what the tools do with a node: [Node.Ping], and the portal
// operations [Node.Sink], [Node.Put], [Node.Serve] and [Node.Get], which the
// daemon offers on its control socket. They block until done and report what
// happens step by step; the caller's context ends them, and nothing of theirs
// stays in the portal table then.
package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/timerfd"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// Config says what to assemble.
type Config struct {
	config.Config
	Log *slog.Logger // nil discards
	Tap lnd.Tap      // nil captures nothing
	// Incarnation is the number of this life of the node, above those of the
	// lives before. 0: the wall clock.
	Incarnation uint64
	// MayNotListen makes a node without a listener when the accept port is
	// forbidden. Such a node can dial and keeps what it dialled. A port that
	// is taken is an error all the same: another node has the NID, and peers
	// would end its connections for those of a new incarnation.
	MayNotListen bool
	// Modules makes what runs on the node, to be opened in this order; nil: nothing.
	Modules func(Host) []Module
}

// Node is a running node. All methods are safe for concurrent use.
type Node struct {
	base  *node.Node
	cfg   Config
	lnet  *lnet.Node // of base, like table
	table *portals.Table
	lazy  [portals.Portals]atomic.Int64 // sinks that hold the portal lazy

	devices  devices // of o2ib
	clock    *timerfd.Clock
	plan     *fault.Plan
	changing sync.Mutex // held while networks are added or removed
	handlers *handlers.Set
	modules  []Module // that were opened

	dialsOnly bool // an NI has no listener, for want of permission
}

// New starts a node. Errors carry a hint for the user (cli.HintOf).
func New(cfg Config) (*Node, error) {
	list, err := networks.Parse(cfg.Networks)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{cfg: cfg, clock: timerfd.NewClock()}
	if n.plan, err = newPlan(cfg.Config, n.clock); err != nil {
		n.clock.Close()
		return nil, err
	}
	for _, f := range cfg.Faults {
		n.warnOf(f)
	}
	if n.base, err = node.Start(n.parts()); err != nil {
		n.plan.Stop()
		n.clock.Close()
		return nil, err
	}
	n.lnet, n.table = n.base.LNet(), n.base.Table()
	if err := n.start(list); err != nil {
		return nil, errors.Join(err, n.Shutdown(context.Background()))
	}
	return n, nil
}

// parts says of which parts the node is made, without the configured NIs: their errors
// come with hints for users of the commands.
func (n *Node) parts() node.Config {
	cfg := n.cfg
	o2ib := o2iblndConfig(cfg.Config)
	o2ib.Open = n.devices.watch(o2ib.Open)
	return node.Config{
		Networks: "lo", Log: cfg.Log, Clock: n.clock, Tap: cfg.Tap,
		LNet: lnet.Config{
			Incarnation:        cfg.Incarnation,
			TransactionTimeout: cfg.TransactionTimeout,
			ResponseTracking:   cmp.Or(cfg.ResponseTracking, -1),
			SourceUnchecked:    !cfg.SourceCheck,
			PeerIdle:           cmp.Or(cfg.PeerIdle, -1),
			OnShrink:           debug.FreeOSMemory, // an idle process collects only every two minutes
		},
		Discovery: discovery.Config{Off: cfg.DiscoveryDisabled},
		TCP:       socklndConfig(cfg.Config),
		O2IB:      o2ib,
		Wrap:      func(d lnd.Driver) lnd.Driver { return fault.Wrap(d, n.plan) },
	}
}

// start adds the configured NIs and what stands above them.
func (n *Node) start(list []networks.Interface) error {
	for _, i := range list {
		if _, err := n.startNI(i); err != nil {
			return err
		}
	}
	if err := n.startHandlers(); err != nil {
		return err
	}
	return n.openModules()
}

// startNI starts one NI.
func (n *Node) startNI(i networks.Interface) (*lnet.NI, error) {
	cfg := lnd.Config{Net: i.Net, Interface: i.Name, Tunables: lndTunables(n.cfg.Config)}
	if i.Net.Type() == nid.O2IB {
		cfg.Tunables = o2ibTunables(n.cfg.Config)
	}
	ni, err := n.base.AddNI(cfg)
	if n.cfg.MayNotListen && i.Net.Type() == nid.TCP && errors.Is(err, syscall.EACCES) {
		n.dialsOnly = true
		ni, err = n.addDialling(cfg)
	}
	return ni, n.explain(i, err)
}

// addDialling adds an NI that does not listen.
func (n *Node) addDialling(cfg lnd.Config) (*lnet.NI, error) {
	tunables := socklndConfig(n.cfg.Config)
	tunables.Accept = socklnd.AcceptNone
	driver, err := socklnd.New(tunables)
	if err != nil {
		return nil, err
	}
	cfg.Incarnation, cfg.Tap = uint64(time.Now().UnixNano()), n.cfg.Tap
	return n.lnet.AddNI(fault.Wrap(driver, n.plan), cfg)
}

// explain replaces the advice of an NI that did not start by a hint for users of the
// commands.
func (n *Node) explain(i networks.Interface, err error) error {
	failed, ok := errors.AsType[*node.StartError](err)
	if !ok {
		return n.explainTCP(err) // of addDialling
	}
	_, down := errors.AsType[*node.DownError](err)
	_, unknown := errors.AsType[*node.DriverError](err)
	switch {
	case down, unknown:
		return cli.Hint(failed.Err, "%s", failed.Advice)
	case i.Net.Type() == nid.O2IB:
		return n.explainO2IB(failed.Err)
	}
	return n.explainTCP(failed.Err)
}

// explainTCP adds what helps against the usual failures of a listener.
func (n *Node) explainTCP(err error) error {
	switch {
	case errors.Is(err, syscall.EACCES):
		return cli.Hint(err, "or choose a port above 1023 with --accept-port, on all nodes")
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.Hint(err, "something listens on port %d there: if it is lnetd, use its node (lnetctl without --standalone, see --socket); or choose another address with --networks 'tcp(ADDRESS)', or another port with --accept-port", n.cfg.AcceptPort)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return cli.Hint(err, "--networks names an address that is not on this machine: see 'ip address'")
	case errors.Is(err, syscall.ESHUTDOWN):
		return cli.Hint(err, "the node is going down: start another one")
	case err != nil:
		return cli.Hint(err, "see --networks; 'ip address' lists interfaces and addresses")
	}
	return nil
}

// Shutdown stops the node. Messages that wait to be sent leave until ctx ends;
// an error says that some could not.
func (n *Node) Shutdown(ctx context.Context) error {
	n.handlers.End()
	defer n.handlers.Wait()
	errs := n.closeModules(ctx)
	n.plan.Stop()
	defer n.clock.Close()
	return errors.Join(append(errs, n.base.Close(ctx))...)
}

// DialsOnly reports whether the node does without a listener because it may
// not have one (Config.MayNotListen).
func (n *Node) DialsOnly() bool { return n.dialsOnly }

// NIDs returns the NIDs of the node but 0@lo.
func (n *Node) NIDs() []nid.NID { return n.base.NIDs() }
