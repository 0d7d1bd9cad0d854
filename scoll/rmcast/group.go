package rmcast

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Message is a delivered message. Data is valid until the handler returns.
type Message struct {
	Origin ID     // the member that sent the message
	Number uint32 // communication number of Origin
	Seq    uint64 // number that rises with each message of an origin
	Data   []byte // payload of the message
}

// GroupConfig configures a member of a group.
type GroupConfig struct {
	// Group is the number of the group. Required.
	Group GroupID
	// Managers are the nodes that may manage the group, in order of precedence (RM-A18).
	// Default: this node alone.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this member ignores messages
	// of all others. Nil admits all nodes.
	Admit []nid.NID
	// FIFO delivers the messages of each origin in the order in which it sent them.
	FIFO bool

	// RTT is the round-trip time assumed before the first measurement; MinRTT and MaxRTT bound
	// the estimate. Defaults 1 ms, 100 µs, 200 ms.
	RTT, MinRTT, MaxRTT time.Duration
	// Guard is the minimum that a timeout for a child allows in addition to the round trip, for each
	// level of the subtree (RM-A4). Default 5 ms.
	Guard time.Duration
	// AckDelay is how long acknowledgements are delayed to be merged while several messages
	// are in flight (RM-A19). Default 200 µs.
	AckDelay time.Duration
	// Idle is the time after the last datagram at which an origin announces what is stable. It
	// repeats that after twice and four times as long. Default 50 ms.
	Idle time.Duration
	// Silence is how long an origin may be silent before a member that keeps its payload
	// queries it. Default 1 s.
	Silence time.Duration
	// ReportInterval is the time between two reports to the manager, and before a request to
	// the manager is repeated. Default 500 ms.
	ReportInterval time.Duration
	// LeaveAfter bounds how long a leaving member serves the messages in flight (RM-A11).
	// Default 10 s.
	LeaveAfter time.Duration
	// HealAfter is how long this member hears no manager of its epoch before it joins a
	// manager of a lower epoch, as a new member. Default 10 s.
	HealAfter time.Duration
	// Memory bounds the datagrams of other origins that a member keeps in a group that all
	// nodes may join, in bytes. Default 64 MiB.
	Memory int
	// Seed is the seed of the random faults that [Faults] asks for.
	Seed uint64
	// Faults are in effect from the start.
	Faults Faults

	// Handle is called with every message of the group, own ones included, one at a time. It must
	// not block. It may call Post, BeginLeave and Close; functions that wait return ErrInHandler
	// in any handler of the agent. Required.
	Handle func(m *Message)
	// NoMulticast makes this node a member without multicast, as if its driver had none. Then the
	// payload goes down the tree for all members of the group.
	NoMulticast bool
	// StayOut keeps this node out of the group after the manager has expelled it. Otherwise it
	// joins again, as a new member.
	StayOut bool
	// OnChange is called when this node becomes a member and each time the list of members changes, with a later
	// version each time. A new list does not mean that this node may send already: Ready returns when it may. OnChange
	// is also called, with the reason, when this node ceases to be a member. It must not block. May be nil.
	OnChange func(v Version, err error)
}

// Engine returns the configuration of the member's machine, without the settings that the agent
// adds.
func (c GroupConfig) Engine() engine.Config {
	return engine.Config{
		Group: c.Group, Managers: c.Managers, Admit: c.Admit, FIFO: c.FIFO,
		RTT: c.RTT, MinRTT: c.MinRTT, MaxRTT: c.MaxRTT, Guard: c.Guard, AckDelay: c.AckDelay,
		Idle: c.Idle, Silence: c.Silence, ReportInterval: c.ReportInterval, LeaveAfter: c.LeaveAfter, HealAfter: c.HealAfter,
		Memory: c.Memory, Seed: c.Seed, Faults: c.Faults,
	}
}

// Group is this node's membership of a group.
type Group struct {
	a      *Agent
	cfg    GroupConfig
	m      *engine.Machine // stepped by runner
	runner *machine.Runner[engine.Input, engine.Output]

	listens bool          // this node receives the multicast group's datagrams
	message Message       // the message that is being delivered; owned by apply, as newest is
	newest  Version       // latest version that OnChange was called with
	over    atomic.Bool   // no more effects of the machine are applied
	merged  atomic.Uint64 // datagrams that merge has packed into others
	packed  atomic.Uint64 // messages that share a datagram because merge has packed them

	mu      sync.Mutex
	waiting []*Sending // senders that wait for room in the window; guarded by mu, as all below
	posted  []*Sending // messages of Post whose outcome is not known
	free    []*Sending
	joined  chan struct{} // closed when this node is a member
	gone    chan struct{} // closed when this node has left
	ended   chan struct{} // closed after gone, when the functions of all posted messages have returned
	why     error         // the result of Leave
	member  bool
	left    bool
	closed  bool
}

// Join starts to join a group. It does not wait until this node is a member; Ready and Send do.
// A node that manages the group must also join to be a member. Errors: ErrTaken, ErrClosed, or
// an error that says that GroupConfig lacks Handle or a valid number. Without multicast the
// payload goes down the tree.
func (a *Agent) Join(cfg GroupConfig) (*Group, error) {
	if len(cfg.Managers) == 0 {
		cfg.Managers = []nid.NID{a.cfg.Self}
	}
	g := &Group{a: a, cfg: cfg, joined: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{})}
	if err := a.claim(g); err != nil {
		return nil, err
	}
	a.forgetHandled()
	ec := cfg.Engine()
	ec.Self, ec.Incarnation, ec.Wall = a.cfg.Self, max(a.cfg.Incarnation, a.incarnationAfter(cfg.Group)), a.wall()
	ec.MTU, ec.Capacity = g.listen()
	g.m = engine.New(ec)
	g.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: g.m, Clock: a.cfg.Clock, Apply: g.apply, Merge: g.merge,
		Fault: func(err error) { a.log.Error("rmcast timer", slog.Any("err", err)) },
	})
	if err := a.publish(g); err != nil {
		g.unlisten()
		return nil, err
	}
	g.runner.Do(engine.Input{Kind: engine.Join})
	return g, nil
}

// errNoHandle is returned if GroupConfig has no Handle.
var errNoHandle error = &Error{Why: "GroupConfig needs a Handle, which takes the messages"}

// claim returns an error if the group may not be joined.
func (a *Agent) claim(g *Group) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
		return ErrClosed
	case (*a.groups.Load())[g.cfg.Group] != nil:
		return ErrTaken
	case g.cfg.Handle == nil:
		return errNoHandle
	}
	if err := g.cfg.Group.Check(); err != nil {
		return err
	}
	return nil
}

// incarnationAfter returns the next incarnation of this node's member in a group that the node
// has left before.
func (a *Agent) incarnationAfter(group GroupID) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.incarnations[group]
}

// publish adds a group to the table by which messages find it. It returns ErrClosed if the agent was closed, and
// ErrTaken if another call of Join has added a group with this number in the meantime.
func (a *Agent) publish(g *Group) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(*a.groups.Load())
	switch {
	case a.stopped:
		return ErrClosed
	case all[g.cfg.Group] != nil:
		return ErrTaken
	}
	all[g.cfg.Group] = g
	a.groups.Store(&all)
	return nil
}

// listen joins the multicast group. It returns the largest payload of a datagram, and the size
// of the receive memory.
func (g *Group) listen() (mtu, capacity int) {
	a := g.a
	if g.cfg.NoMulticast {
		return 0, 0
	}
	if err := a.table.JoinGroup(a.cfg.Self, portals.Group(g.cfg.Group), wire.DataPortal); err != nil {
		a.log.Info("rmcast: no multicast, the payload goes down the tree", slog.Any("group", g.cfg.Group), slog.Any("err", err))
		return 0, 0
	}
	g.listens = true
	limits, err := a.table.MulticastLimits(a.cfg.Self)
	if err != nil {
		return 0, 0
	}
	room := limits.MaxPayload - a.signer.CodeSize()
	return max(min(room, wire.HeaderSize+a.cfg.Fragment), 0), limits.ReceiveBuffer
}

// unlisten leaves the multicast group.
func (g *Group) unlisten() {
	if g.listens {
		_ = g.a.table.LeaveGroup(g.a.cfg.Self, portals.Group(g.cfg.Group), wire.DataPortal)
	}
}

// ID returns the number of the group.
func (g *Group) ID() GroupID { return g.cfg.Group }

// Ready waits until this node is a member and may send. The error is ErrClosed, ErrInHandler in
// a handler that would have to wait, or the error of ctx. If it is known why managers refuse
// this node, the error of ctx also wraps that reason, such as ErrQuorum or ErrNoManager.
func (g *Group) Ready(ctx context.Context) error {
	g.mu.Lock()
	joined := g.joined
	g.mu.Unlock()
	select {
	case <-joined:
		return nil
	default:
	}
	if g.a.inHandler() {
		return ErrInHandler
	}
	select {
	case <-joined:
		return nil
	case <-g.gone:
		return ErrClosed
	case <-ctx.Done():
		return g.late(ctx)
	}
}

// SetFaults discards some of the messages that arrive, on purpose (RM-24).
func (g *Group) SetFaults(f Faults) { g.runner.Do(engine.Input{Kind: engine.SetFaults, Faults: f}) }

// Stats returns the counters.
func (g *Group) Stats() (s Stats) {
	g.runner.Inspect(func() { s = g.m.Stats() })
	g.count(&s)
	return s
}

// merge packs messages that were sent while effects were applied into fewer datagrams.
func (g *Group) merge(outs []*engine.Output) {
	merged, packed := engine.Merge(outs)
	g.merged.Add(uint64(merged))
	g.packed.Add(uint64(packed))
}

// count adds what merge has done to the machine's counters.
func (g *Group) count(s *Stats) {
	s.Datagrams -= g.merged.Load()
	s.Packed += g.packed.Load()
}

// Status returns the state of this member, with the children for whose acknowledgements
// messages wait.
func (g *Group) Status() (s Status) {
	g.runner.Inspect(func() { s = g.m.Status() })
	g.count(&s.Stats)
	return s
}

// apply applies the effects of a step, in order. It calls all handlers. inHandler searches the
// stack for apply, so apply must not be inlined.
//
//go:noinline
func (g *Group) apply(out *engine.Output) {
	g.a.applying.Add(1)
	defer g.a.applying.Add(-1)
	for i := range out.Effects {
		if g.over.Load() {
			return
		}
		e := &out.Effects[i]
		head := out.Buf[e.Head.Begin:e.Head.End]
		switch e.Kind {
		case engine.DoMulticast:
			g.a.multicast(g.cfg.Group, head, e.Data)
		case engine.DoRepair:
			g.a.put(&g.a.outbox, e.To, wire.DataPortal, false, head, e.Data)
		case engine.DoControl:
			g.a.put(&g.a.outbox, e.To, wire.ControlPortal, true, head, nil)
		case engine.DoReport:
			g.a.put(&g.a.outbox, e.To, wire.ManagerPortal, false, head, e.Data)
		case engine.Deliver:
			g.message = Message{e.Origin, e.Number, e.Seq, e.Data}
			g.cfg.Handle(&g.message)
		case engine.Accepted, engine.Full, engine.Released, engine.Lost:
			g.settle(e, out)
		case engine.Room:
			g.room()
		case engine.Merged:
		default:
			g.changed(e)
		}
	}
}

// changed handles the effects Joined, Changed and Gone.
func (g *Group) changed(e *engine.Effect) {
	log := g.a.log.With(slog.Any("group", g.cfg.Group))
	switch e.Kind {
	case engine.Joined:
		g.mu.Lock()
		if !g.member {
			g.member = true
			close(g.joined)
		}
		g.mu.Unlock()
		g.told(e.Version, nil)
	case engine.Changed:
		g.told(e.Version, nil)
	case engine.Gone:
		g.quit(e.Why)
	case engine.Suspect:
		log.Debug("rmcast: a member keeps an origin waiting", slog.Any("origin", e.Origin), slog.Any("member", e.Member))
	case engine.Refused:
		log.Warn("rmcast: messages of a node are refused", slog.Any("nid", e.To), slog.Any("err", e.Why))
	case engine.Denied:
		log.Warn("rmcast: a manager refuses this node", slog.Any("nid", e.To), slog.Any("err", e.Why))
	case engine.Deaf:
		log.Warn("rmcast: no multicast arrives, only repairs; does the network forward the group's address?", slog.Any("origin", e.Origin))
	}
}

func (g *Group) told(v Version, err error) {
	if err == nil && v.Compare(g.newest) <= 0 {
		return // OnChange was called for this list when it came; now it has come into use
	}
	if g.newest = v; g.cfg.OnChange != nil {
		g.cfg.OnChange(v, err)
	}
}
