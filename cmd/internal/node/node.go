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
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
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
	"ulnet/lnd/lo"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals"
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
}

// Node is a running node. All methods are safe for concurrent use.
type Node struct {
	cfg   Config
	lnet  *lnet.Node
	table *portals.Table
	lazy  [portals.Portals]atomic.Int64 // sinks that hold the portal lazy

	discovery *discovery.Agent // nil when the start failed before it
	tcp       *socklnd.Driver
	o2ib      *o2iblnd.Driver
	devices   devices // of o2ib
	clock     *timerfd.Clock
	plan      *fault.Plan
	changing  sync.Mutex // held while networks are added or removed
	gossip    gossiper
	scoll     *collective  // nil: not enabled
	health    *healthRoles // likewise
	zone      *zoner       // likewise
	mcast     *multicaster // likewise
	handlers  *handlers.Set

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
	n.lnet = lnet.New(lnet.Config{
		Incarnation:        cmp.Or(cfg.Incarnation, wallClock()),
		Clock:              n.clock,
		Log:                cfg.Log,
		TransactionTimeout: cfg.TransactionTimeout,
		ResponseTracking:   cmp.Or(cfg.ResponseTracking, -1),
		SourceUnchecked:    !cfg.SourceCheck,
		PeerIdle:           cmp.Or(cfg.PeerIdle, -1),
		OnShrink:           debug.FreeOSMemory, // an idle process collects only every two minutes
	})
	n.table = portals.New(n.lnet)
	n.gossip.node, n.gossip.clock, n.gossip.view = n, machine.BootClock(), newView()
	if cfg.Health.Enabled() {
		n.gossip.health = newHealthView(cfg.Health.Servers, func(id nid.NID) bool { return slices.Contains(n.NIDs(), id) })
	}
	if err := n.start(list); err != nil {
		return nil, errors.Join(err, n.Shutdown(context.Background()))
	}
	return n, nil
}

// start adds 0@lo, the agent of discovery and the configured NIs.
func (n *Node) start(list []networks.Interface) error {
	if _, err := n.lnet.AddNI(fault.Wrap(lo.Driver{}, n.plan), lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}); err != nil {
		return err
	}
	var err error
	n.discovery, err = discovery.Start(n.table, discovery.Config{
		Off: n.cfg.DiscoveryDisabled, Limits: discovery.Limits{Timeout: n.cfg.TransactionTimeout},
	})
	if err != nil {
		return err
	}
	// One driver for all NIs of a type: two on one address share its listener.
	if n.tcp, err = socklnd.New(socklndConfig(n.cfg.Config)); err != nil {
		return err
	}
	o2ib := o2iblndConfig(n.cfg.Config)
	o2ib.Open = n.devices.watch(o2ib.Open)
	if n.o2ib, err = o2iblnd.New(o2ib); err != nil {
		return err
	}
	for _, i := range list {
		if _, err := n.startNI(i); err != nil {
			return err
		}
	}
	if err := n.startHandlers(); err != nil {
		return err
	}
	if err := n.gossip.configure(n.cfg.Gossip); err != nil {
		return err
	}
	if err := n.startScoll(); err != nil {
		return err
	}
	if err := n.startZone(); err != nil {
		return err
	}
	if err := n.startRmcast(); err != nil {
		return err
	}
	return n.startHealth()
}

// startNI starts one NI.
func (n *Node) startNI(i networks.Interface) (*lnet.NI, error) {
	if t := i.Net.Type(); t != nid.TCP && t != nid.O2IB {
		return nil, cli.Hint(&noDriverError{i.Net}, "there are drivers for tcp, o2ib and lo")
	}
	if err := checkUp(i.Name); err != nil {
		return nil, err
	}
	if i.Net.Type() == nid.O2IB {
		return n.addO2IB(i)
	}
	ni, err := n.addTCP(n.tcp, i)
	if n.cfg.MayNotListen && errors.Is(err, syscall.EACCES) {
		n.dialsOnly = true
		ni, err = n.addDialling(i)
	}
	return ni, n.explain(err)
}

// noDriverError is LNet's EINVAL for a type of network that it does not know.
type noDriverError struct{ net nid.Net }

func (e *noDriverError) Error() string {
	return fmt.Sprintf("network %v: no driver for this type", e.net)
}
func (*noDriverError) Unwrap() error { return syscall.EINVAL }

// addDialling adds an NI that does not listen.
func (n *Node) addDialling(i networks.Interface) (*lnet.NI, error) {
	tunables := socklndConfig(n.cfg.Config)
	tunables.Accept = socklnd.AcceptNone
	driver, err := socklnd.New(tunables)
	if err != nil {
		return nil, err
	}
	return n.addTCP(driver, i)
}

func (n *Node) addTCP(driver *socklnd.Driver, i networks.Interface) (*lnet.NI, error) {
	return n.lnet.AddNI(fault.Wrap(driver, n.plan), lnd.Config{
		Net: i.Net, Interface: i.Name, Tunables: lndTunables(n.cfg.Config), Tap: n.cfg.Tap,
		Incarnation: wallClock(), // socklnd's own: when the NI started, as in kernels
	})
}

func wallClock() uint64 { return uint64(time.Now().UnixNano()) }

// explain adds what helps against the usual failures of a listener.
func (n *Node) explain(err error) error {
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
	var err error
	if n.health != nil {
		err = n.health.close()
	}
	if n.scoll != nil {
		n.scoll.close()
	}
	n.mcast.close()
	n.zone.close()
	n.gossip.close()
	if n.discovery != nil {
		n.discovery.Close() // or every NI that goes would be told to all peers
	}
	n.plan.Stop()
	defer n.clock.Close()
	defer n.table.Close()
	return errors.Join(err, n.lnet.Shutdown(ctx))
}

// DialsOnly reports whether the node does without a listener because it may
// not have one (Config.MayNotListen).
func (n *Node) DialsOnly() bool { return n.dialsOnly }

// NIDs returns the NIDs of the node but 0@lo.
func (n *Node) NIDs() []nid.NID {
	var nids []nid.NID
	for _, id := range n.lnet.IDs() {
		if !id.NID.IsLo() {
			nids = append(nids, id.NID)
		}
	}
	return nids
}
