package simlnd

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// defaultWindow is the default of Config.Window: two of the largest messages.
const defaultWindow = 2 << 20

// Config configures a [Fabric]. Fields that sim.Config has, too, have the same meaning.
type Config struct {
	Nodes int    // number of hosts
	Seed  uint64 // seed of all random numbers
	// Boot builds the stack of a host's new incarnation, in the first step of that
	// incarnation. kept is the incarnation before if the restart keeps state, otherwise nil.
	// Required.
	Boot       func(h, kept *Host)
	StartAt    func(sim.NodeID) time.Duration                        // first start of a host; nil: all at 0
	Topology   sim.Topology                                          // paths between hosts; nil: sim.Flat with perfect links
	AccessRate int64                                                 // bandwidth of each host's link in bit/s; 0: unlimited
	CPU        sim.CPU                                               // CPU time of a step
	Inbox      int                                                   // messages that wait at a busy or paused host; 0: sim.DefaultInbox
	OnEvent    func(at time.Duration, node sim.NodeID, ev sim.Event) // called for each Host.Emit
	// Window bounds the bytes on their way on one connection: the sender sends the next message
	// while fewer bytes than this are on their way. 0 means defaultWindow.
	Window int
	// Datagram is the largest payload of a multicast datagram in bytes; 0 means defaultDatagram. If
	// it is negative, hosts have no multicast.
	Datagram int
}

// Fabric is a simulated network of hosts. Its methods are for the goroutine
// that runs it.
type Fabric struct {
	sim.Control // controls the network, except for what the methods below do

	net         *sim.Network[*packet]
	cfg         Config
	rails       []atomic.Uint32 // rails of each host that are cut, as bits
	hosts       []*Host         // latest incarnation of each host
	pool        pool
	deliveries  []*delivery // unused deliveries
	duplicating bool        // whether SetLink was called with a change that makes links duplicate messages
	flushing    bool        // flush is running
	scheduled   bool        // a flush is scheduled

	mu    sync.Mutex
	dirty []*Host // hosts that have work to do outside of a step; guarded by mu
	// members are the hosts in each group, ascending; guarded by mu.
	members map[groupKey][]sim.NodeID
	any     atomic.Bool // whether dirty has hosts
}

// New makes a fabric. Its hosts start when it runs.
func New(cfg Config) (*Fabric, error) {
	if cfg.Boot == nil {
		return nil, fmt.Errorf("simlnd: Config.Boot is required")
	}
	if cfg.Nodes > maxNodes {
		return nil, fmt.Errorf("simlnd: %d nodes: there are addresses for %d", cfg.Nodes, maxNodes)
	}
	cfg.Window = cmp.Or(cfg.Window, defaultWindow)
	cfg.Datagram = cmp.Or(cfg.Datagram, defaultDatagram)
	cfg.Inbox = cmp.Or(cfg.Inbox, sim.DefaultInbox)
	if cfg.Topology == nil {
		cfg.Topology = &sim.Flat{}
	}
	f := &Fabric{cfg: cfg, members: make(map[groupKey][]sim.NodeID)}
	conf := sim.Config[*packet]{
		Nodes: cfg.Nodes, Seed: cfg.Seed, Boot: f.boot, StartAt: cfg.StartAt, Topology: cfg.Topology,
		AccessRate: cfg.AccessRate, CPU: cfg.CPU, Inbox: cfg.Inbox, OnEvent: cfg.OnEvent,
		Hash: func(p **packet) uint64 {
			if *p == nil {
				return 0
			}
			return (*p).digest
		},
	}
	n, err := sim.New(conf)
	if err != nil {
		return nil, err
	}
	f.net, f.Control, f.hosts = n, n, make([]*Host, cfg.Nodes)
	f.rails = make([]atomic.Uint32, cfg.Nodes)
	return f, nil
}

func (f *Fabric) boot(incarnation sim.Incarnation, kept sim.Program[*packet]) sim.Program[*packet] {
	f.forget(incarnation.Node)
	h := newHost(f, incarnation)
	if kept != nil {
		h.kept = kept.(*Host)
	}
	f.hosts[incarnation.Node] = h
	return h
}

// Host returns the latest incarnation of a host; nil before its first.
func (f *Fabric) Host(id sim.NodeID) *Host { return f.hosts[id] }

// Do calls fn in a step of a host: at once, unless the host is busy or paused (see [Host.Do]). It
// returns false if the host is down.
func (f *Fabric) Do(id sim.NodeID, fn func(h *Host)) bool {
	if !f.Up(id) {
		return false
	}
	h := f.hosts[id]
	h.Do(func() { fn(h) })
	if !f.flushing {
		f.schedule()
	}
	return true
}

// At calls fn at the virtual time at.
func (f *Fabric) At(at time.Duration, fn func()) {
	f.net.At(at, func() {
		fn()
		f.flush()
	})
}

// Run processes every event up to and including an instant, see sim.Network.
func (f *Fabric) Run(until time.Duration) error {
	f.flush()
	return f.net.Run(until)
}

// RunEvents processes at most limit events, see sim.Network.
func (f *Fabric) RunEvents(limit int) (int, error) {
	f.flush()
	return f.net.RunEvents(limit)
}

// SetLink changes the quality of paths; see sim.Network.
func (f *Fabric) SetLink(from, to sim.NodeSet, change link.Change) {
	if change.Fields&link.FieldDuplicate != 0 && change.To.Duplicate > 0 {
		f.duplicating = true
	}
	f.net.SetLink(from, to, change)
}

// ResetLinks undoes every SetLink.
func (f *Fabric) ResetLinks() {
	f.duplicating = false
	f.net.ResetLinks()
}

// duplicates reports whether a packet that one host now sends to another may arrive twice.
func (f *Fabric) duplicates(from, to sim.NodeID) bool {
	return f.duplicating || f.cfg.Topology.Route(from, to).Link.Duplicate > 0
}

// mark puts a host into dirty: it has work to do, but is not in a step that would do it.
func (f *Fabric) mark(h *Host) {
	f.mu.Lock()
	f.dirty = append(f.dirty, h)
	f.any.Store(true)
	f.mu.Unlock()
}

// schedule makes the network call flush at the present instant, after the event that it is
// handling. It does nothing if dirty has no hosts.
func (f *Fabric) schedule() {
	if f.any.Load() && !f.flushing && !f.scheduled {
		f.scheduled = true
		f.net.At(f.net.Now(), f.flush)
	}
}

// flush steps every host in dirty.
func (f *Fabric) flush() {
	f.scheduled = false
	if f.flushing || !f.any.Load() {
		return
	}
	f.flushing = true
	for {
		f.mu.Lock()
		list := f.dirty
		f.dirty = nil
		f.any.Store(false)
		f.mu.Unlock()
		if len(list) == 0 {
			break
		}
		for _, h := range list {
			if f.hosts[h.incarnation.Node] == h {
				f.net.Command(h.incarnation.Node, nudge)
			}
		}
	}
	f.flushing = false
}

// nudge is the text of the Command by which flush steps a host: the host then does the work that it
// has queued.
const nudge = ""
