package rmcast

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
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
	// Config: Self, Life, MTU and Capacity follow from the agent, and Managers are
	// this node alone if there are none.
	Config
	// Handle takes every message of the group, own ones included, one at a time.
	// It must not block; it may call Post, BeginLeave and Stop. Functions that wait
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

// Group is a node's part in a group.
type Group struct {
	a      *Agent
	cfg    GroupConfig
	m      *Machine // stepped by runner
	runner *machine.Runner[Input, Output]

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
// before it joins, too. Errors: ErrTaken, ErrStopped, and that GroupConfig lacks Handle or a
// number for the group. Without multicast the payload goes down the tree.
func (a *Agent) Join(cfg GroupConfig) (*Group, error) {
	cfg.Self, cfg.Life = a.cfg.Self, a.cfg.Incarnation
	if len(cfg.Managers) == 0 {
		cfg.Managers = []nid.NID{cfg.Self}
	}
	g := &Group{a: a, cfg: cfg, joined: make(chan struct{}), gone: make(chan struct{})}
	if err := a.claim(g); err != nil {
		return nil, err
	}
	g.listen()
	g.m = New(g.cfg.Config)
	g.runner = machine.NewRunner(machine.Config[Input, Output]{
		Machine: g.m, Clock: a.cfg.Clock, Apply: g.apply,
		Fault: func(err error) { a.log.Error("rmcast timer", slog.Any("err", err)) },
	})
	if err := a.publish(g); err != nil {
		g.unlisten()
		return nil, err
	}
	g.runner.Do(Input{Kind: Join})
	return g, nil
}

// errNoHandle is a mistake of the caller.
var errNoHandle = errors.New("rmcast: GroupConfig needs a Handle, which takes the messages")

// claim sees whether a group may be joined.
func (a *Agent) claim(g *Group) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
		return ErrStopped
	case (*a.groups.Load())[g.cfg.Group] != nil:
		return ErrTaken
	case g.cfg.Handle == nil:
		return errNoHandle
	}
	if err := g.cfg.Group.check(); err != nil {
		return err
	}
	g.cfg.Life = max(g.cfg.Life, a.lives[g.cfg.Group])
	return nil
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
func (g *Group) listen() {
	a := g.a
	g.cfg.MTU, g.cfg.Capacity = 0, 0
	if g.cfg.NoMulticast {
		return
	}
	if err := a.table.JoinGroup(a.cfg.Self, portals.Group(g.cfg.Group)); err != nil {
		a.log.Info("rmcast: no multicast, the payload goes down the tree", slog.Any("group", g.cfg.Group), slog.Any("err", err))
		return
	}
	g.listens = true
	limits, err := a.table.MulticastLimits(a.cfg.Self)
	if err != nil {
		return
	}
	room := limits.MaxPayload
	if a.out.on {
		room -= keyring.CodeSize
	}
	g.cfg.MTU, g.cfg.Capacity = max(min(room, HeaderSize+a.cfg.Fragment), 0), limits.ReceiveBuffer
}

// unlisten takes listen back.
func (g *Group) unlisten() {
	if g.listens {
		_ = g.a.table.LeaveGroup(g.a.cfg.Self, portals.Group(g.cfg.Group)) // the NI may be another one by now
	}
}

// ID is the number of the group.
func (g *Group) ID() GroupID { return g.cfg.Group }

// Ready waits until this node is a member and may send. The error is ErrStopped,
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
		return ErrStopped
	case <-ctx.Done():
		return g.late(ctx)
	}
}

// SetFaults discards a share of what arrives, on purpose (RM-24).
func (g *Group) SetFaults(f Faults) { g.runner.Do(Input{Kind: SetFaults, Faults: f}) }

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
func (g *Group) apply(out *Output) {
	g.a.applying.Add(1)
	defer g.a.applying.Add(-1)
	for i := range out.Effects {
		if g.over.Load() {
			return
		}
		e := &out.Effects[i]
		head := out.Buf[e.Head.Begin:e.Head.End]
		switch e.Kind {
		case DoMulticast:
			g.a.multicast(g.cfg.Group, head, e.Data)
		case DoRepair:
			g.a.put(e.To, DataPortal, false, head, e.Data)
		case DoControl:
			g.a.put(e.To, ControlPortal, true, head, nil)
		case DoReport:
			g.a.put(e.To, ManagerPortal, false, head, nil)
		case Deliver:
			g.message = Message{e.Origin, e.Number, e.Seq, e.Data}
			g.cfg.Handle(&g.message)
		case Accepted, Full, Released, Lost:
			g.settle(e, out)
		case Room:
			g.room()
		default:
			g.changed(e)
		}
	}
}

// changed acts on news of the group.
func (g *Group) changed(e *Effect) {
	log := g.a.log.With(slog.Any("group", g.cfg.Group))
	switch e.Kind {
	case Joined:
		g.mu.Lock()
		if !g.member {
			g.member = true
			close(g.joined)
		}
		g.mu.Unlock()
		g.told(e.Version, nil)
	case Changed:
		g.told(e.Version, nil)
	case Gone:
		g.quit(e.Why)
	case Suspect:
		log.Debug("rmcast: a member keeps an origin waiting", slog.Any("origin", e.Origin), slog.Any("member", e.Member))
	case Refused:
		log.Warn("rmcast: messages of a node are refused", slog.Any("nid", e.To), slog.Any("err", e.Why))
	case Denied:
		log.Warn("rmcast: a manager refuses this node", slog.Any("nid", e.To), slog.Any("err", e.Why))
	case Deaf:
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
