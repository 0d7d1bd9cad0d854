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
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/timerfd"
	"ulnet/lnd"
	"ulnet/lnd/fault"
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
	// Incarnation is the number of this incarnation of the node, above those of the
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

	statuses []func(lnd.NI) *drivers.Status // of the drivers
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
	parts := node.Config{
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
		Wrap:      func(d lnd.Driver) lnd.Driver { return fault.Wrap(d, n.plan) },
	}
	for _, d := range n.cfg.All() {
		n.statuses = append(n.statuses, d.Add(&parts, cfg.Settings))
	}
	return parts
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
	driver := n.cfg.Of(i.Net.Type())
	cfg := lnd.Config{Net: i.Net, Interface: i.Name, Tunables: driver.NI(n.cfg.LND())}
	ni, err := n.base.AddNI(cfg)
	if d, can := driver.(drivers.DialOnly); can && n.cfg.MayNotListen && errors.Is(err, syscall.EACCES) {
		n.dialsOnly = true
		ni, err = n.addDialling(d, cfg)
	}
	return ni, n.explain(driver, err)
}

// addDialling adds an NI that does not listen.
func (n *Node) addDialling(d drivers.DialOnly, cfg lnd.Config) (*lnet.NI, error) {
	driver, err := d.DialOnly(n.cfg.Settings)
	if err != nil {
		return nil, err
	}
	cfg.Incarnation, cfg.Tap = uint64(time.Now().UnixNano()), n.cfg.Tap
	return n.lnet.AddNI(fault.Wrap(driver, n.plan), cfg)
}

// explain replaces the advice of an NI that did not start by a hint for users of the
// commands.
func (n *Node) explain(driver drivers.Driver, err error) error {
	if failed, ok := errors.AsType[*node.StartError](err); ok { // else it is of addDialling
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

// Table returns the node's portal table, for what the operations above do not
// cover. Portal 0 is discovery's; what else is attached is the caller's to
// unlink.
func (n *Node) Table() *portals.Table { return n.table }
