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

// Message is one that was delivered. Data is valid until the handler returns.
type Message struct {
	Origin ID     // who sent it
	Number uint32 // its communication number
	Seq    uint64 // rises with each message of an origin
	Data   []byte
}

// GroupConfig configures taking part in a group.
type GroupConfig struct {
	// Group is the number of the group. Required.
	Group GroupID
	// Managers are the nodes that may manage the group, in the order of their
	// turns (RM-A18). Default this node alone.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this member takes messages
	// of no others. Nil: all nodes.
	Admit []nid.NID
	// FIFO delivers the messages of an origin in the order in which it sent them.
	FIFO bool

	// RTT is the round trip that is assumed until some are measured, MinRTT and
	// MaxRTT bound what is made of measurements. Defaults 1 ms, 100 µs, 200 ms.
	RTT, MinRTT, MaxRTT time.Duration
	// Guard is the least slack per level of the tree (RM-A4). Default 5 ms.
	Guard time.Duration
	// AckDelay is how long acknowledgements wait for each other when several
	// messages are in flight (RM-A19). Default 200 µs.
	AckDelay time.Duration
	// Idle is how long after its last datagram an origin says what is stable; it
	// says so again after twice and four times as long. Default 50 ms.
	Idle time.Duration
	// Silence is after what time whoever keeps payload asks its origin. Default 1 s.
	Silence time.Duration
	// ReportInterval is how often a member says what it knows, and how long it
	// waits for an answer before it asks again. Default 500 ms.
	ReportInterval time.Duration
	// LeaveAfter is how long a leaver serves the messages under way (RM-A11).
	// Default 10 s.
	LeaveAfter time.Duration
	// HealAfter is how long no manager with the epoch of this member is heard until it
	// joins one of a lower epoch, as another member. Default 10 s.
	HealAfter time.Duration
	// Memory bounds what datagrams of other origins take at a member of a group that
	// all nodes may join, in bytes. Default 64 MiB.
	Memory int
	// Seed is for the faults that [Faults] asks for.
	Seed uint64
	// Faults are what is discarded from the start.
	Faults Faults

	// Handle takes every message of the group, own ones included, one at a time.
	// It must not block; it may call Post, BeginLeave and Close. Functions that wait
	// return ErrInHandler in this and all other handlers. Required.
	Handle func(m *Message)
	// NoMulticast has the payload go down the tree, as where a driver has no
	// multicast; that is then true for all members.
	NoMulticast bool
	// StayOut leaves it at that when the manager has expelled this node. Otherwise
	// it joins again, as another member.
	StayOut bool
	// OnChange is told when this node becomes a member, when the list of members
	// changes, each time with a later version, and when it is a member no longer, with
	// the reason. A member may send when Ready returns, which may be later. It must not
	// block. May be nil.
	OnChange func(v Version, err error)
}

// Engine returns the configuration of the machine that takes part, without what follows from
// the agent.
func (c GroupConfig) Engine() engine.Config {
	return engine.Config{
		Group: c.Group, Managers: c.Managers, Admit: c.Admit, FIFO: c.FIFO,
		RTT: c.RTT, MinRTT: c.MinRTT, MaxRTT: c.MaxRTT, Guard: c.Guard, AckDelay: c.AckDelay,
		Idle: c.Idle, Silence: c.Silence, ReportInterval: c.ReportInterval, LeaveAfter: c.LeaveAfter, HealAfter: c.HealAfter,
		Memory: c.Memory, Seed: c.Seed, Faults: c.Faults,
	}
}

// Group is a node's part in a group.
type Group struct {
	a      *Agent
	cfg    GroupConfig
	m      *engine.Machine // stepped by runner
	runner *machine.Runner[engine.Input, engine.Output]

	listens bool        // to the multicast group
	message Message     // that is delivered; owned by apply, like newest
	newest  Version     // that OnChange was told
	over    atomic.Bool // nothing is applied any more

	mu      sync.Mutex
	waiting []*Sending // for room; guarded by mu, like all below
	posted  []*Sending // not answered
	free    []*Sending
	joined  chan struct{} // closed when this node is a member
	gone    chan struct{} // closed when it has left
	why     error         // that Leave returns
	member  bool
	left    bool
	closed  bool
}

// Join begins to take part in a group. It does not wait until this node is a member:
// Ready does, and so does Send. A node that manages the group is no member of it
// before it joins, too. Errors: ErrTaken, ErrClosed, and that GroupConfig lacks Handle or a
// number for the group. Without multicast the payload goes down the tree.
func (a *Agent) Join(cfg GroupConfig) (*Group, error) {
	if len(cfg.Managers) == 0 {
		cfg.Managers = []nid.NID{a.cfg.Self}
	}
	g := &Group{a: a, cfg: cfg, joined: make(chan struct{}), gone: make(chan struct{})}
	if err := a.claim(g); err != nil {
		return nil, err
	}
	ec := cfg.Engine()
	ec.Self, ec.Incarnation = a.cfg.Self, max(a.cfg.Incarnation, a.incarnationAfter(cfg.Group))
	ec.MTU, ec.Capacity = g.listen()
	g.m = engine.New(ec)
	g.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: g.m, Clock: a.cfg.Clock, Apply: g.apply,
		Fault: func(err error) { a.log.Error("rmcast timer", slog.Any("err", err)) },
	})
	if err := a.publish(g); err != nil {
		g.unlisten()
		return nil, err
	}
	g.runner.Do(engine.Input{Kind: engine.Join})
	return g, nil
}

// errNoHandle is a mistake of the caller.
var errNoHandle error = &Error{Why: "GroupConfig needs a Handle, which takes the messages"}

// claim sees whether a group may be joined.
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

// incarnationAfter is the next incarnation of a member of a group that was left.
func (a *Agent) incarnationAfter(group GroupID) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.incarnations[group]
}

// publish has messages of the group reach it.
func (a *Agent) publish(g *Group) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(*a.groups.Load())
	if a.stopped || all[g.cfg.Group] != nil {
		return ErrTaken
	}
	all[g.cfg.Group] = g
	a.groups.Store(&all)
	return nil
}

// listen joins the multicast group, and finds out what a datagram may have.
func (g *Group) listen() (mtu, capacity int) {
	a := g.a
	if g.cfg.NoMulticast {
		return 0, 0
	}
	if err := a.table.JoinGroup(a.cfg.Self, portals.Group(g.cfg.Group)); err != nil {
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

// unlisten takes listen back.
func (g *Group) unlisten() {
	if g.listens {
		_ = g.a.table.LeaveGroup(g.a.cfg.Self, portals.Group(g.cfg.Group)) // the NI may be another one by now
	}
}

// ID is the number of the group.
func (g *Group) ID() GroupID { return g.cfg.Group }

// Ready waits until this node is a member and may send. The error is ErrClosed,
// ErrInHandler for a handler that would have to wait, or ctx's, with why managers do not let
// this node in, such as ErrQuorum, as far as they said so, or ErrNoManager.
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

// SetFaults discards a share of what arrives, on purpose (RM-24).
func (g *Group) SetFaults(f Faults) { g.runner.Do(engine.Input{Kind: engine.SetFaults, Faults: f}) }

// Stats returns the counters.
func (g *Group) Stats() (s Stats) {
	g.runner.Inspect(func() { s = g.m.Stats() })
	return s
}

// Status tells how this node stands to the group, and what its messages wait for.
func (g *Group) Status() (s Status) {
	g.runner.Inspect(func() { s = g.m.Status() })
	return s
}

// apply does what a step wants done, in order. It calls all handlers, and is looked for
// on the stack to know them: so it must not become a part of another function.
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
			g.a.put(e.To, wire.DataPortal, false, head, e.Data)
		case engine.DoControl:
			g.a.put(e.To, wire.ControlPortal, true, head, nil)
		case engine.DoReport:
			g.a.put(e.To, wire.ManagerPortal, false, head, nil)
		case engine.Deliver:
			g.message = Message{e.Origin, e.Number, e.Seq, e.Data}
			g.cfg.Handle(&g.message)
		case engine.Accepted, engine.Full, engine.Released, engine.Lost:
			g.settle(e, out)
		case engine.Room:
			g.room()
		default:
			g.changed(e)
		}
	}
}

// changed acts on news of the group.
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
		return // a list that was told before comes into use
	}
	if g.newest = v; g.cfg.OnChange != nil {
		g.cfg.OnChange(v, err)
	}
}
