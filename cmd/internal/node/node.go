// Package node assembles a whole LNet node from its configuration: the message
// layer, the portal table, discovery and the drivers. lnetd runs one;
// lnetctl runs one for the time of a command when there is no daemon.
//
// It also has the operations that the daemon offers on its control socket: [Node.Ping], and the
// portal operations [Node.Sink], [Node.Put], [Node.Serve] and [Node.Get]. These block until
// they are done and report each step. They end when the caller's context ends. When they
// return, they have removed all their entries from the portal table.
package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/statelock"
	"ulnet/cmd/internal/web"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/machine/timerfd"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/portals/node"
)

// Sockets makes the listening sockets of a node, or returns those that an earlier process has opened.
type Sockets interface {
	drivers.Sockets
	web.Sockets
}

// Config configures a Node.
type Config struct {
	config.Config
	Log *slog.Logger // nil: nothing is logged
	Tap lnd.Tap      // receives a copy of all messages; nil: nothing is captured
	// Imported is the content of the file LNetConf, which Import and Configure apply; nil: there is none.
	Imported *tree.File
	// Incarnation is the number of this incarnation of the node, higher than all earlier ones. 0:
	// the wall clock.
	Incarnation uint64
	// State is the lock on the state directory; nil: it is not locked.
	State *statelock.Lock
	// Sockets makes the sockets at which NIs and modules are reached; nil: new sockets.
	Sockets Sockets
	// MayNotListen starts a node without a listener when binding the accept port is not permitted.
	// Such a node can still open connections. If the port is in use, that remains an error: another
	// node has the NID, and peers would close the connections of that node in favour of those of
	// the new incarnation.
	MayNotListen bool
	// Modules makes the modules in the order in which they will be opened; nil: no modules.
	Modules func(Host) []Module
}

// Node is a running node. All methods are safe for concurrent use.
type Node struct {
	base  *node.Node
	cfg   Config
	lnet  *lnet.Node // the LNet node of the field base; table is its portal table
	table *portals.Table
	lazy  [portals.Portals]atomic.Int64 // by portal: number of sinks that keep it lazy

	statuses     []func(lnd.NI) *drivers.Status // each returns a driver's status of an NI, or nil for another driver's NI
	clock        *timerfd.Clock
	plan         *fault.Plan
	policies     policies
	origins      origins
	limits       limits
	unconfigured atomic.Bool                // LNet has no networks, see Configure
	largeNIDs    atomic.Bool                // NIs get large NIDs if possible, see Configure
	counted      atomic.Pointer[lnet.Stats] // counters at the last ResetStats; nil: it was never called
	changing     sync.Mutex                 // held while networks are added or removed
	handlers     *handlers.Set
	modules      []Module // modules in the order in which they were opened

	// current is the configuration of networks, peers, rules and routes that is in effect: cfg, or
	// that of the last Reload. For everything else, cfg is read.
	current   atomic.Pointer[config.Config]
	imported  *tree.File              // Config.Imported, or Imported of the last Reload; guarded by reloading
	reloading sync.Mutex              // held by Reload, KeysReload, Import and Configure
	changes   atomic.Uint64           // see Status.Changes
	damage    error                   // why the node is not as its configuration says, see Reload; nil: it is; guarded by reloading
	given     map[string][]int        // numbers of the fault rules of the configuration, by their texts; guarded by reloading
	inForce   map[string]keyring.Keys // keys that sections of the configuration have now; guarded by reloading

	dialsOnly bool // an NI has no listener because binding was not permitted
}

// Routes are the operations of a node and its modules.
func (n *Node) Routes() []control.Route {
	routes := []control.Route{
		OpStatus.Do(control.Told(n.Status)), OpPeers.Do(control.Quick(n.peersAsked)),
		OpAddPeer.Do(control.Act(n.AddPeer)), OpRemovePeer.Do(control.Act(n.RemovePeer)), OpPeerState.Do(control.Act(n.SetPeerState)),
		OpPing.Do(n.Ping), OpDiscover.Do(n.Discover), OpPath.Do(control.Quick(n.Path)), OpSet.Do(control.Act(n.Set)),
		OpSetTogether.Do(control.Act(n.SetTogether)), OpHealth.Do(control.Act(n.SetNIHealth)),
		OpRouting.Do(control.Told(n.Routing)), OpConnections.Do(control.Quick(n.Connections)), OpDistance.Do(control.Quick(n.Distance)),
		OpConfigure.Do(n.Configure), OpTune.Do(control.Act(n.Tune)), OpResetStats.Do(control.Just(n.ResetStats)),
		OpAddNetworks.Do(control.Act(n.AddNetworks)), OpRemoveNet.Do(n.RemoveNet),
		OpRoutes.Do(control.Told(n.RoutesNow)), OpAddRoutes.Do(control.Act(n.AddRoutes)), OpRemoveRoute.Do(control.Act(n.RemoveRoute)),
		OpFail.Do(control.Act(n.Fail)), OpAddFault.Do(control.Quick(n.AddFault)), OpEndFault.Do(control.Act(n.EndFault)),
		OpAddFaultRule.Do(control.Act(n.AddFaultRule)), OpRemoveFaultRules.Do(control.Quick(n.RemoveFaultRules)), OpResetFaultRules.Do(control.Act(n.ResetFaultRules)),
		OpUDSP.Do(control.Told(n.UDSP)), OpAddUDSP.Do(control.Act(n.AddUDSP)), OpRemoveUDSP.Do(control.Act(n.RemoveUDSP)),
		OpSink.Do(n.Sink), OpPut.DoWith(n.Put), OpServe.DoWith(n.Serve), OpGet.Do(n.Get),
		OpKeys.Do(control.Told(n.Keys)), OpKeysReload.Do(control.Just(n.KeysReload)),
		OpHandlers.Do(n.askHandlers), OpTestHandler.Do(n.TestHandler),
	}
	for _, m := range n.modules {
		routes = append(routes, m.Routes()...)
	}
	return routes
}

// failedWithin bounds the time in which New shuts down a node that could not start.
const failedWithin = 5 * time.Second

// New starts a node. Errors carry a hint for the user (cli.HintOf).
func New(cfg Config) (*Node, error) {
	if err := cfg.ResolveNetworks(LocalAddresses); err != nil {
		return nil, err
	}
	list, err := cfg.Nets()
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{cfg: cfg, clock: timerfd.NewClock(), imported: cfg.Imported, inForce: keysOf(&cfg.Config)}
	n.current.Store(&n.cfg.Config)
	if err := n.startBase(); err != nil {
		n.clock.Close()
		return nil, err
	}
	if err := n.start(list); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), failedWithin)
		defer cancel()
		return nil, errors.Join(err, n.Shutdown(ctx))
	}
	return n, nil
}

// start adds the configured NIs, the event handlers and the modules.
func (n *Node) start(list []tree.Net) error {
	if err := n.lnet.SetHealth(n.lnet.Health()); err != nil { // changes nothing: it refuses settings of the configuration that do not fit together
		return err
	}
	if err := n.startLimits(); err != nil {
		return err
	}
	n.lnet.SetRouteSettings(n.cfg.RouteSettings(), n.cfg.DropAsymmetricRoute)
	if err := n.lnet.SetRouterBuffers(n.cfg.Routing.Buffers()); err != nil {
		return err
	}
	if err := n.startNets(list); err != nil {
		return err
	}
	if n.cfg.IsRouter() {
		if err := n.lnet.StartAsRouter(); err != nil {
			return err
		}
	}
	if err := n.startPolicy(); err != nil {
		return err
	}
	if err := n.startHandlers(); err != nil {
		return err
	}
	return n.openModules()
}

// startPolicy applies the peers, rules and routes of the configuration.
func (n *Node) startPolicy() error {
	for _, p := range n.current.Load().Sections.Peer {
		if err := n.AddPeer(addPeerRequest(p)); err != nil {
			return err
		}
	}
	if err := n.startUDSP(); err != nil {
		return err
	}
	return n.startRoutes()
}

// killWithin is how long Shutdown waits for programs of handlers: until those that ignore SIGTERM have
// got SIGKILL, and a second more.
const killWithin = handlers.Grace + time.Second

// Shutdown stops the node. It waits until queued messages are sent or ctx ends, and for programs of
// handlers until they are killed. An error says what could not be sent, or has not ended.
func (n *Node) Shutdown(ctx context.Context) error {
	n.handlers.End()
	killed, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWithin)
	defer cancel()
	errs := n.closeModules(ctx)
	n.plan.Stop()
	errs = append(errs, n.base.Close(ctx))
	n.clock.Close()
	return errors.Join(append(errs, n.handlers.Wait(killed))...)
}

// DialsOnly reports whether the node runs without a listener because binding was not
// permitted (Config.MayNotListen).
func (n *Node) DialsOnly() bool { return n.dialsOnly }

// NIDs returns the NIDs of the node, except 0@lo.
func (n *Node) NIDs() []nid.NID { return n.base.NIDs() }

// Table returns the node's portal table. Portal 0 belongs to discovery. Callers unlink
// the entries that they attach.
func (n *Node) Table() *portals.Table { return n.table }
