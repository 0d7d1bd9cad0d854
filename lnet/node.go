package lnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
)

// Config configures a Node. The zero value of a field means its default.
type Config struct {
	// PID is the node's process id; 0 means nid.LustrePID. Routers forward messages to another PID only while its process is
	// connected to them, or if it has the flag nid.UserPID: senders can name any PID, and a router would dial each.
	PID nid.PID
	// Incarnation marks this incarnation of the node in wire handles, so that late
	// answers to an earlier incarnation are recognized: wall-clock nanoseconds at the start.
	// Required.
	Incarnation uint64
	// Clock is the clock of the node. It is required.
	Clock machine.Clock
	// Log gets the node's log records; nil discards them.
	Log *slog.Logger
	// TransactionTimeout (lnet_transaction_timeout) bounds how long a message
	// waits for credits, and how long its ACK or REPLY may take; 0 means 150 s.
	TransactionTimeout time.Duration
	// HealthSensitivity (lnet_health_sensitivity) is how much a failure subtracts from the
	// health of an NI, which begins at 1000, and how much a success adds. 0 means 100. With a
	// negative value health does not change, and messages are not sent again either. See
	// HealthSettings.
	HealthSensitivity int
	// RetryCount (lnet_retry_count) is how often a message is sent again by another NI; 0
	// means 2, negative never.
	RetryCount int
	// Recovery says when NIs that are not well are pinged.
	Recovery recovery.Settings
	// ResponseTracking (lnet_response_tracking) says which answers are awaited for at most
	// TransactionTimeout: 1 means those to GETs, 2 those to PUTs with ACK, 3 both. A negative
	// value means only those of MDs that ask for it, which LNet calls 0. Here 0 means 3.
	ResponseTracking int
	// MaxPeers bounds the peer table; 0 means 262144. Idle peers make room.
	MaxPeers int
	// SourceUnchecked accepts messages whose header names any source except this node. If it is false,
	// the source must be the process at the other end of the connection, Delivery.From.
	SourceUnchecked bool
	// PeerIdle is how long a peer without a connection, messages and watchers (WatchPeer) is
	// remembered; 0 means 10 minutes, negative for ever. In a crowded table, which has more
	// than 4096 peers, this time is 30 s at most, and a peer that was never connected is
	// removed at the next check, within 5 s.
	PeerIdle time.Duration
	// PeerBufferCredits (peer_buffer_credits) is how many messages of one peer may be in this
	// node at a time to be forwarded. It applies to NIs whose own tunable PeerBufferCredits is 0.
	// 0 means the PeerCredits of the NI.
	PeerBufferCredits int
	// RouterSilence (alive_router_check_interval + router_ping_timeout) is how long a net may
	// be silent before this node, as a router, reports its NI there as down. It also bounds how
	// long a new router waits before it reports that it routes. 0 means DefaultRouterSilence.
	// If it is negative, a silent net never counts as down, and a new router does not wait.
	RouterSilence time.Duration
	// OnShrink, if set, is called after the table of peers has released the memory of thousands
	// of peers. A daemon that is otherwise idle may run the garbage collector then. No lock is
	// held during the call.
	OnShrink func()
}

func (c Config) withDefaults() Config {
	c.PID = cmp.Or(c.PID, nid.LustrePID)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.TransactionTimeout = cmp.Or(c.TransactionTimeout, 150*time.Second)
	c.ResponseTracking = cmp.Or(c.ResponseTracking, 3)
	c.PeerIdle = cmp.Or(c.PeerIdle, 10*time.Minute)
	c.RouterSilence = cmp.Or(c.RouterSilence, DefaultRouterSilence)
	c.MaxPeers = cmp.Or(c.MaxPeers, 1<<18)
	return c
}

// Node is one LNet node: its NIs, its peers, its counters (the_lnet). All
// methods are safe for concurrent use.
type Node struct {
	cfg   Config
	began time.Duration // when New made the node, by cfg.Clock
	self  nid.ProcessID // the process as which this node sends itself messages over lo: 0@lo with the node's PID
	upper Upper         // the layer above; set once, before the first NI

	nis   atomic.Pointer[[]*NI] // copied on change; index 0 is lo when present
	peers peerTable

	gateways gateways

	view   atomic.Pointer[view] // copy of nis and routes that senders read without a lock
	sent   atomic.Uint64        // number of messages whose path was chosen; path.Choice.Use takes this number as the time of the last use
	routes []*path.Gateway      // routes of the node; guarded by mu
	rules  Rules                // selection rules; guarded by mu

	forward    forwarder
	state      health
	failing    failList
	inFlight   gauge
	backlog    backlog // messages that wait for discovery or for a connection
	answers    backlog // answers that wait for credits
	errors     atomic.Uint64
	drops      dropCounters
	unanswered atomic.Uint64 // number of ACKs and REPLYs that did not come in time, see CountResponseTimeout
	tracking   atomic.Int32  // setting of ResponseTracking
	retired    Traffic       // counters of NIs that were removed; guarded by mu

	discover atomic.Pointer[func(nid.NID)] // function that starts the discovery of a node; nil: no discovery
	pinger   atomic.Pointer[func(nid.NID)] // function that pings a node; nil: none was set
	forget   atomic.Pointer[func(nid.NID)] // function that is told that a node was forgotten; nil: none was set

	watches watches

	mu       sync.Mutex // serializes changes of nis; not held while drivers, Upper or watchers are called
	down     bool       // Shutdown has begun: there are no new NIs; guarded by mu
	leaving  []*NI      // NIs no longer in nis, not yet in retired; guarded by mu
	watchers []func()   // functions given to OnNIChange; guarded by mu
}

// New returns a node without NIs. SetUpper comes next, then AddNI.
func New(cfg Config) *Node {
	n := &Node{cfg: cfg.withDefaults()}
	if n.cfg.Clock != nil { // a node without a clock can have no NIs, and needs no beginning
		n.began = n.cfg.Clock.Now()
	}
	n.self = nid.ProcessID{NID: nid.Lo0(), PID: n.cfg.PID}
	n.nis.Store(&[]*NI{})
	n.peers.init(n.cfg.MaxPeers)
	n.gateways.init(n.cfg.Incarnation)
	n.state.init(n.cfg)
	n.SetResponseTracking(max(0, n.cfg.ResponseTracking))
	n.forward.patience, n.forward.review = n.cfg.RouterSilence, machine.Alarm{Clock: n.cfg.Clock, Call: n.reviewRouting}
	n.answers.each = ownAnswers
	n.look()
	return n
}

// SetUpper installs the layer above. It must happen before the first AddNI
// and only once.
func (n *Node) SetUpper(u Upper) {
	if n.upper != nil {
		panic("lnet: SetUpper called twice")
	}
	n.upper = u
}

// PID returns the process id of the node.
func (n *Node) PID() nid.PID { return n.cfg.PID }

// Incarnation is the interface cookie of this node's wire handles.
func (n *Node) Incarnation() uint64 { return n.cfg.Incarnation }

// Clock returns the clock that the node was given.
func (n *Node) Clock() machine.Clock { return n.cfg.Clock }

// Age returns how long ago [New] made the node, by the node's clock.
func (n *Node) Age() time.Duration { return n.cfg.Clock.Now() - n.began }

// TransactionTimeout returns how long an operation may take.
func (n *Node) TransactionTimeout() time.Duration { return n.state.settings.Load().TransactionTimeout }

// TracksResponses reports whether the answers to GETs and the ACKs of PUTs
// are waited for no longer than TransactionTimeout.
func (n *Node) TracksResponses() (gets, puts bool) {
	bits := n.ResponseTracking()
	return bits&1 != 0, bits&2 != 0
}

// ResponseTracking returns the bits of lnet_response_tracking: 1 for GETs, 2 for PUTs.
func (n *Node) ResponseTracking() int { return int(n.tracking.Load()) }

// SetResponseTracking sets the bits of lnet_response_tracking, for operations that begin from now on.
func (n *Node) SetResponseTracking(bits int) { n.tracking.Store(int32(bits)) }

// CountResponseTimeout counts an ACK or REPLY that did not come in time. It blames hop, the
// next hop of the request, if that is known and its node has other NIDs or routes. A gateway
// that was heard since the request was sent, at the time asked or before, is not blamed.
func (n *Node) CountResponseTimeout(hop nid.NID, asked time.Duration) {
	n.unanswered.Add(1)
	s := n.Health().Sensitivity
	if s == 0 || !hop.IsValid() {
		return
	}
	paths := n.paths([]nid.NID{hop}, nil)
	for _, p := range paths {
		if c := p.describe(recovery.Case{}); (c.PeerRails || c.Router) && !c.Own {
			if !c.Router || !heardSince(paths, asked) {
				p.hurt(s)
			}
			return
		}
	}
}

// Log returns the logger of the node, which is never nil.
func (n *Node) Log() *slog.Logger { return n.cfg.Log }

// NIs returns the node's NIs in the order of configuration.
func (n *Node) NIs() []*NI { return slices.Clone(*n.nis.Load()) }

// IDs returns the node's process ids in the order of its NIs (LNetGetId).
func (n *Node) IDs() []nid.ProcessID {
	var ids []nid.ProcessID
	for _, ni := range *n.nis.Load() {
		ids = append(ids, nid.ProcessID{NID: ni.nid, PID: n.cfg.PID})
	}
	return ids
}

// OnNIChange calls f after every change of the list of NIs, and after every change of an NI's link.
// f must not block.
func (n *Node) OnNIChange(f func()) {
	n.mu.Lock()
	n.watchers = append(n.watchers, f)
	n.mu.Unlock()
}

// AddNI starts a driver on a net and adds the NI. cfg's PID, Incarnation,
// Clock and Log default to the node's.
//
//	EINVAL     negative credits
//	EEXIST     the node has an NI with this NID
//	ESHUTDOWN  the node is going down, or has
//	ENETDOWN   the driver cannot start and has no errno of its own for it
//
// and what the driver reports.
func (n *Node) AddNI(driver lnd.Driver, cfg lnd.Config) (*NI, error) {
	if n.upper == nil {
		panic("lnet: AddNI before SetUpper")
	}
	ownTimeout := cfg.Tunables.Timeout != 0
	cfg = n.complete(cfg)
	if err := n.mayStart(cfg.Tunables); err != nil {
		return nil, &startError{cfg.Net, err}
	}
	ni := newNI(n, cfg)
	ni.ownTimeout = ownTimeout
	lower, err := driver.Startup(cfg, ni)
	if err == nil {
		err = n.register(ni, lower)
	}
	ni.open.Store(err == nil)
	close(ni.opened) // upcalls wait for opened, and the driver's Shutdown waits for upcalls, so this comes first
	if err != nil {
		err = &startError{cfg.Net, err}
		if lower != nil {
			err = errors.Join(err, lower.Shutdown(context.Background()))
		}
		return nil, err
	}
	n.state.setting.Lock() // the settings may have changed since n.complete read them
	ni.followTimeout()
	n.state.setting.Unlock()
	n.niChanged()
	return ni, nil
}

// mayStart makes all checks that need no driver.
func (n *Node) mayStart(t lnd.Tunables) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case t.Credits < 0 || t.PeerCredits < 0:
		return fmt.Errorf("negative credits: %w", syscall.EINVAL)
	case n.down:
		return syscall.ESHUTDOWN
	}
	return nil
}

// complete gives the fields of cfg that are zero their defaults.
func (n *Node) complete(cfg lnd.Config) lnd.Config {
	cfg.Tunables = cfg.Tunables.WithDefaults()
	cfg.Tunables.Timeout = cmp.Or(cfg.Tunables.Timeout, n.Health().LNDTimeout())
	cfg.PID = cmp.Or(cfg.PID, n.cfg.PID)
	cfg.Incarnation = cmp.Or(cfg.Incarnation, n.cfg.Incarnation)
	cfg.Clock = cmp.Or(cfg.Clock, n.cfg.Clock)
	cfg.Log = cmp.Or(cfg.Log, n.cfg.Log)
	return cfg
}

// register adds ni to the list. Other goroutines send through it from then on, so it must be
// complete before.
func (n *Node) register(ni *NI, lower lnd.NI) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return syscall.ESHUTDOWN
	}
	id := lower.NID()
	list := *n.nis.Load()
	for _, other := range list {
		if other.nid == id {
			return fmt.Errorf("NID %v: %w", id, syscall.EEXIST)
		}
	}
	ni.nid, ni.lower, ni.rail.NID = id, lower, id
	if m, ok := lnd.AsMulticaster(lower); ok {
		ni.caster = m
	}
	if _, ok := n.upper.(InlineUpper); ok {
		ni.poster, _ = lower.(lnd.Inliner)
	}
	next := append(slices.Clip(slices.Clone(list)), ni)
	n.nis.Store(&next)
	n.look()
	return nil
}

// tellNIWatchers calls the functions given to OnNIChange.
func (n *Node) tellNIWatchers() {
	n.mu.Lock()
	watchers := slices.Clone(n.watchers)
	n.mu.Unlock()
	for _, f := range watchers {
		f()
	}
}

// niChanged is called after a change of the list of NIs.
func (n *Node) niChanged() {
	n.judge(n.gateways.all()...) // a gateway may have no net in common with this node any more, or have one again
	n.reviewRouting()            // a router watches the nets of its NIs
	n.tellNIWatchers()
	if n.watches.some.Load() {
		review(n.watches.all(), syscall.ESHUTDOWN)
	}
}

// niByNID returns the NI with exactly this NID, or nil.
func (n *Node) niByNID(id nid.NID) *NI {
	for _, ni := range *n.nis.Load() {
		if ni.nid == id {
			return ni
		}
	}
	return nil
}
