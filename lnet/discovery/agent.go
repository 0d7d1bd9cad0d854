package discovery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// Limits bound what an agent keeps and how long it waits; Stats counts what it did and refused.
type (
	Limits = engine.Limits
	Stats  = engine.Stats
)

// Config configures an [Agent]. The zero value of a field means its default.
type Config struct {
	// Off begins with discovery off (lnet_peer_discovery_disabled): no peer is pinged before the first message, and
	// no ping or push adds NIDs to a peer that is no gateway. Calls of Discover and pushes change the statuses of
	// NIDs that are known, and the features of their peers.
	Off bool
	// CheckInterval (alive_router_check_interval) is how often each gateway of the node's
	// routes is checked; 0 means 60 s, negative never.
	CheckInterval time.Duration
	// CheckTimeout (router_ping_timeout) is how long a gateway may take to answer a check;
	// 0 means 50 s.
	CheckTimeout time.Duration
	// Limits are limits of the machine. If its Timeout is 0, it is the transaction timeout of the node, and follows
	// that when it changes. With a longer Timeout, LNet gives up unanswered pings and pushes before discovery does,
	// and lowers the health of the next hop, which may be a gateway that is well.
	Limits
}

// Agent is a node's part in discovery: it answers pings, takes pushes, and
// steps the [engine.Machine] that discovers peers before the first message to them. The
// agent has no goroutine of its own: the goroutine that brings an input steps the machine
// with it. If another goroutine is stepping the machine at that time, that goroutine also
// handles the new input.
type Agent struct {
	table  *portals.Table
	node   *lnet.Node
	target *Target
	pushes pushTarget
	checks gateways

	recoverer *recoverer

	setting sync.Mutex // serializes calls of SetDiscovery, which no handler may call, and Close before it ends anything; taken before mu

	mu        sync.Mutex
	machine   *engine.Machine // machine of discovery; guarded by mu, like all fields below
	inbox     []request
	batch     []request // requests that are being stepped; the memory of this slice is used again for the next inbox
	stepping  bool      // a goroutine is running the method run
	out       engine.Output
	alarm     machine.Alarm // steps the machine when it wants to be
	exchanges map[uint64]portals.MDHandle
	asked     map[nid.NID][]func(error) // by NID: the functions ended of the requests that were stepped, until the discovery of the NID ends
	edits     map[uint64]chan error     // channels for the answers about configured peers, by key; each channel has room for its answer
	lastEdit  uint64                    // last key that was used in edits
	closed    bool
	timeout   time.Duration // the Limits.Timeout that the machine uses now
	fixed     bool          // true: Config sets the timeout; false: the timeout follows the node's transaction timeout; constant
}

// New makes a node's agent. Call it after 0@lo was added and before the other
// NIs, so that sequence numbers count like a kernel's: 1 is the list with 0@lo
// alone, and a node with one NI answers with 2.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	fixed := cfg.Timeout != 0
	cfg.Timeout = cmp.Or(cfg.Timeout, table.Node().TransactionTimeout())
	a := &Agent{
		table: table, node: table.Node(), machine: engine.NewMachine(cfg.Limits), timeout: cfg.Timeout, fixed: fixed,
		exchanges: make(map[uint64]portals.MDHandle), asked: make(map[nid.NID][]func(error)),
	}
	a.alarm = machine.Alarm{Clock: a.node.Clock(), Call: func() { a.input(engine.Input{Kind: engine.Timer}) }}
	a.pushes = pushTarget{table: table, maxSize: a.machine.MaxInfoSize(), push: a.input}
	if err := a.pushes.start(); err != nil {
		return nil, fmt.Errorf("attach push target: %w", err)
	}
	features := PeerFeatures
	if cfg.Off {
		features &^= wire.FeatureDiscovery
	}
	var err error
	if a.target, err = newTarget(table, features, a.published); err != nil {
		a.pushes.close()
		return nil, err
	}
	a.node.SetForgetter(func(id nid.NID) { a.input(engine.Input{Kind: engine.Forget, NID: id}) })
	a.node.SetPinger(func(id nid.NID) { a.input(engine.Input{Kind: engine.Refresh, NID: id}) })
	a.SetDiscovery(!cfg.Off)
	a.checks.start(a, cfg)
	a.recoverer = newRecoverer(table)
	a.node.SetRecoverer(a.healthChanged)
	return a, nil
}

// published passes the node's new ping info to the machine.
func (a *Agent) published(info wire.PingInfo) {
	self := engine.Self{Sequence: info.Sequence, Discovery: info.Features.Has(wire.FeatureDiscovery)}
	for _, ni := range info.NIs {
		self.NIDs = append(self.NIDs, ni.NID)
		if ni.Status == wire.StatusDown {
			self.Down = append(self.Down, ni.NID)
		}
	}
	a.input(engine.Input{Kind: engine.SelfIs, Self: self})
}

// SetDiscovery turns discovery on or off. The peers that are known to be multi-rail, and to have discovery, get a push that says
// so. It does nothing after Close.
func (a *Agent) SetDiscovery(on bool) {
	a.setting.Lock()
	defer a.setting.Unlock()
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return
	}
	if on {
		a.node.SetDiscoverer(func(id nid.NID) { a.input(engine.Input{Kind: engine.Discover, NID: id}) })
		a.target.setFeatures(PeerFeatures)
	} else {
		a.node.SetDiscoverer(nil) // first, so that no message waits for the pushes of setFeatures
		a.target.setFeatures(PeerFeatures &^ wire.FeatureDiscovery)
	}
}

// Discovery reports whether discovery is on.
func (a *Agent) Discovery() bool { return a.target.Info().Features.Has(wire.FeatureDiscovery) }

// SetMaxInterfaces changes how many NIs a peer may have, 0@lo included (lnet_interfaces_max). What is
// known of peers stays.
func (a *Agent) SetMaxInterfaces(n int) {
	a.pushes.setMaxSize(engine.InfoSize(n))
	a.input(engine.Input{Kind: engine.LimitIs, Interfaces: n})
}

// Info returns what the node tells about itself.
func (a *Agent) Info() wire.PingInfo { return a.target.Info() }

// Stats returns the counters of discovery.
func (a *Agent) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine.Stats()
}

// Discover asks the node with a NID for its NIDs, and returns what is then known of that node.
// With force it pings and pushes even if discovery of the node is already under way. For one of
// this node's own NIDs no message is sent. Errors wrap an errno:
//
//	EINVAL     id is no NID of a node
//	ENOENT     the node answered that it no longer has this NID
//	ENOBUFS    there is no room for another peer
//	ESHUTDOWN  discovery was closed
//
// It also returns the cause of ctx, ETIMEDOUT or EPROTO as [Ping] does, or the error with
// which a ping or push could not be sent.
func (a *Agent) Discover(ctx context.Context, id nid.NID, force bool) (lnet.Peer, error) {
	if !id.IsValid() || id.IsAny() {
		return lnet.Peer{}, fmt.Errorf("discover %v: %w", id, syscall.EINVAL)
	}
	if info := a.Info(); id.IsLo() || slices.ContainsFunc(info.NIs, func(n wire.NIStatus) bool { return n.NID == id }) {
		return own(info), nil
	}
	done := make(chan error, 1)
	a.refresh(id, force, func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			return lnet.Peer{}, fmt.Errorf("discover %v: %w", id, err)
		}
	case <-ctx.Done():
		return lnet.Peer{}, fmt.Errorf("discover %v: %w", id, context.Cause(ctx))
	}
	p := a.node.Peer(id)
	if !p.Primary.IsValid() { // the node answered that it no longer has this NID
		return p, fmt.Errorf("discover %v: %w", id, syscall.ENOENT)
	}
	return p, nil
}

// refresh discovers the node with a NID, and calls ended once, with ESHUTDOWN if the agent is closed before the discovery
// ends. ended must not block.
func (a *Agent) refresh(id nid.NID, force bool, ended func(error)) {
	a.take(request{Input: engine.Input{Kind: engine.Refresh, NID: id, Force: force}, ended: ended})
}

// own describes this node as if it were a peer.
func own(info wire.PingInfo) lnet.Peer {
	p := lnet.Peer{Primary: nid.Lo0(), NIs: info.NIs, Features: info.Features, Flags: lnet.PeerMultiRail}
	if len(info.NIs) > 0 {
		p.Primary = info.NIs[0].NID
	} else {
		p.NIs = []wire.NIStatus{{NID: nid.Lo0(), Status: wire.StatusUp}}
	}
	return p
}

// Close ends discovery: the agent pings and pushes no more, and messages that wait for
// an answer fail with ESHUTDOWN. Pings are still answered. Call it before the node
// shuts down, because otherwise each NI that goes causes a push to every peer. It calls
// the handlers of these messages and waits for nothing else. A handler may call Close. The error is nil.
func (a *Agent) Close(context.Context) error {
	a.checks.close()
	a.setting.Lock()
	a.mu.Lock()
	a.closed = true // from now on SetDiscovery does nothing
	a.setting.Unlock()
	a.alarm.Stop()
	open := slices.Sorted(maps.Values(a.exchanges)) // sorted, so that the events of these MDs come in the same order in every run
	clear(a.exchanges)
	asked := a.asked
	a.asked = make(map[nid.NID][]func(error))
	a.endEdits()
	a.mu.Unlock()
	for _, md := range open {
		_ = a.table.MDUnlink(md) // ENOENT means that the exchange has just ended
	}
	a.recoverer.close()
	a.pushes.close()
	a.node.FailParked(syscall.ESHUTDOWN)
	for _, list := range asked { // any order: no call waits for another
		for _, done := range list {
			done(syscall.ESHUTDOWN)
		}
	}
	return nil
}
