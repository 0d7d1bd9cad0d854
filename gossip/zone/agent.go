package zone

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/gossip/internal/watch"
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// Agent lets a node be a member of a zone: it steps a machine, posts buffers for incoming
// messages, and sends the messages that the machine puts out. It has no goroutine of its own,
// and one timer; timers also call the functions of users, such as Config.Keep.
//
// Attributes are sequentially consistent per owner (MS-74): a node that sees one write of an
// owner sees all earlier writes of that owner too, or later ones that replaced them. There is
// no order between the writes of different owners, and no bound on the delay.
//
// Methods are safe for concurrent use.
type Agent struct {
	table   *portals.Table
	cfg     Config
	self    ID
	clock   machine.Clock
	pid     nid.PID         // the PID of the agents of all nodes
	m       *engine.Machine // the machine; stepper steps it, and runner steps stepper
	stepper *engine.Addressed
	runner  *machine.Runner[engine.AddressedInput, engine.AddressedOutput]
	log     *slog.Logger

	inbox    portals.Inbox
	outbox   portals.Outbox[sending]
	watchers watch.Watchers[told]
	queries  queries
	keeper   keeper
	fresh    time.Duration             // how long news of members may wait until it is sent, see send
	watched  map[ID]func()             // functions that end watching a connection; used by apply, and by Close afterwards
	lines    map[lineKind]*memberLines // used by apply

	changing sync.Mutex // held while the node joins, leaves or writes
	closed   atomic.Bool

	strayBits atomic.Uint64
	otherPID  atomic.Uint64
}

// New makes a node ready for a zone; the node becomes a member by [Agent.Join]. The error is an
// *[Error], an error of the table of ids, [portals.ErrNoLoopback] or [portals.ErrNoDiscovery]
// for a node that lacks one of these, or the error of posting the buffers.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{table: table, cfg: cfg, pid: table.Node().PID(), watched: make(map[ID]func())}
	a.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	a.clock = cmp.Or(cfg.Clock, table.Node().Clock())
	ec := cfg.Engine()
	ec.Wire = true
	if ec.Wall = a.wall(); ec.Wall == 0 {
		ec.Wall = table.Node().Incarnation() + uint64(max(table.Node().Age(), 0))
	}
	var err error
	if !ec.Self.IsValid() {
		if ec.Self, err = selfOf(table); err != nil {
			return nil, err
		}
	}
	if a.m, err = engine.New(ec); err != nil {
		return nil, err
	}
	a.self, a.fresh = ec.Self, 2*a.m.Config().Timeout
	here, nets := addresses(table, ec.Self)
	if !here {
		return nil, ErrNotHere
	}
	a.watchers.Init(a.clock)
	a.keeper.init(cfg.Keep, a.clock)
	a.openOutbox()
	a.queries.init(a.clock, ec.Wall+ec.Seed, a.request)
	a.stepper = engine.NewAddressed(a.m, nets)
	a.runner = machine.NewRunner(machine.Config[engine.AddressedInput, engine.AddressedOutput]{
		Machine: a.stepper, Clock: a.clock, Apply: a.apply,
		Fault: func(err error) { a.log.Error("zone timer", slog.Any("err", err)) },
	})
	a.runner.Do(engine.AddressedInput{}) // from now on the machine adds the time that passes to Config.Wall
	if err := a.inbox.Open(table, portals.InboxConfig{Portal: wire.Portal, Size: a.m.Config().MaxMessage, Handle: a.arrived}); err != nil {
		a.runner.Close()
		return nil, fmt.Errorf("zone: post buffers: %w", err)
	}
	return a, nil
}

// wall returns the wall clock for the machine, in ns since 1970; 0: there is none.
func (a *Agent) wall() uint64 {
	if a.cfg.Wall == nil {
		return 0
	}
	return uint64(max(a.cfg.Wall().UnixNano(), 0))
}

// addresses reports whether an id has a NID of this node, and on which networks the
// node is.
func addresses(table *portals.Table, self ID) (here bool, nets []nid.Net) {
	endpoints := self.Endpoints()
	for _, id := range table.Node().IDs() {
		nets = append(nets, id.NID.Net())
		for _, e := range endpoints {
			here = here || e == id.NID
		}
	}
	return here, nets
}

// Join makes the node a member, in an incarnation with the given number. The number must be higher
// than those of all earlier incarnations. 0 stands for the incarnation of the LNet node or, if that
// is too low, for one more than the latest. Errors: [ErrJoined], [ErrOldIncarnation], [ErrClosed].
func (a *Agent) Join(incarnation uint64) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	var last Version
	var joined bool
	a.runner.Inspect(func() { last, joined = a.m.Version(), a.m.Joined() })
	before := max(last.Inc, a.cfg.Last)
	own := a.table.Node().Incarnation()
	if incarnation == 0 {
		incarnation = max(own, before+1)
	}
	switch {
	case a.closed.Load():
		return ErrClosed
	case joined:
		return ErrJoined
	case incarnation <= before || incarnation > wire.MaxIncarnation:
		return ErrOldIncarnation
	}
	if incarnation > own && !a.keeper.now(incarnation) {
		return ErrClosed
	}
	return a.step(engine.AddressedInput{Input: engine.Input{Kind: engine.Join, Inc: incarnation}})
}

// step steps the machine for a method of the agent. ErrClosed: the agent is being closed, and the step may not have been
// made.
func (a *Agent) step(in engine.AddressedInput) error {
	a.runner.Do(in)
	if a.closed.Load() { // Close sets it before it ends the steps
		return ErrClosed
	}
	return nil
}

// Leave says goodbye to the neighbours and ends the node's membership until the next
// [Agent.Join]. Listeners at all members receive the exit code. The node's attributes are lost.
// Errors: [ErrNotJoined]; [ErrClosed] if the agent is closed meanwhile, with or without a goodbye.
func (a *Agent) Leave(code int32) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	if !a.Joined() {
		return ErrNotJoined
	}
	return a.step(engine.AddressedInput{Input: engine.Input{Kind: engine.Leave, Code: code}})
}

// Remove removes a member from the views of the whole zone, for a node that is gone for good
// but still in the views. Listeners see a goodbye with [CodeRemoved]. A node that still runs
// refutes the removal and is back at once. Errors: [ErrNotJoined], [ErrSelf], [ErrNoMember];
// [ErrClosed] if the agent is closed meanwhile.
func (a *Agent) Remove(id ID) (err error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.runner.Inspect(func() {
		_, is := a.m.Has(a.m.Table().Lookup(id))
		switch {
		case !a.m.Joined() || a.closed.Load():
			err = ErrNotJoined
		case id == a.self:
			err = ErrSelf
		case !is:
			err = ErrNoMember
		}
	})
	if err == nil {
		err = a.step(engine.AddressedInput{Input: engine.Input{Kind: engine.Remove}, About: id})
	}
	return err
}

// Set writes an attribute of this node. Set does not wait until other nodes see it.
// Errors: [ErrNotJoined], [ErrKey], [ErrTable], [ErrKeys], which Stats.NotWritten counts; [ErrClosed] if the agent is closed
// meanwhile.
func (a *Agent) Set(key string, value []byte) error { return a.write(engine.Set, key, value) }

// Delete deletes an attribute of this node. It is no error if the attribute does not exist.
func (a *Agent) Delete(key string) error { return a.write(engine.Delete, key, nil) }

func (a *Agent) write(kind engine.InputKind, key string, value []byte) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	err := ErrNotJoined
	a.runner.Inspect(func() {
		if a.m.Joined() && !a.closed.Load() {
			err = a.m.Admit(&Attribute{Key: key, Value: value, Deleted: kind == engine.Delete})
		}
	})
	if err == nil {
		err = a.step(engine.AddressedInput{Input: engine.Input{Kind: kind, Key: key, Value: value}})
	}
	return err
}

// SetKeys replaces the keys from now on; docs/keys.md has the steps for changing the keys of a
// cluster.
func (a *Agent) SetKeys(keys keyring.Keys) { a.runner.Inspect(func() { a.m.SetKeys(keys) }) }

// Close ends the node's membership without a goodbye: the others will consider it dead, unless
// [Agent.Leave] said goodbye before. Close waits for running calls of functions given to
// [Agent.Watch] and [Agent.Query], and until Config.Keep has stored the latest incarnation; if ctx ends
// before, the error says so. Such a function, and Config.Keep, must not call Close, because Close would
// wait for it.
func (a *Agent) Close(ctx context.Context) error {
	if !a.closed.Swap(true) {
		a.runner.Close()
		a.inbox.Close()
		a.keeper.close()
		a.queries.close()
		a.watchers.Close()
		for _, stop := range a.watched { // any order: the functions are independent
			stop()
		}
	}
	return cmp.Or(watch.Returned(ctx, a.watchers.Idle(), "zone", "a function given to Watch"),
		watch.Returned(ctx, a.queries.idle, "zone", "a function given to Query"), watch.Returned(ctx, a.keeper.idle, "zone", "Config.Keep"))
}

// apply sends the messages and reports the events of a step.
func (a *Agent) apply(out *engine.AddressedOutput) {
	if out.Incarnation > 0 {
		a.keeper.soon(out.Incarnation)
	}
	for i := range out.Connections {
		a.watch(&out.Connections[i])
	}
	for i := range out.Sends {
		s := &out.Sends[i]
		a.send(&out.To[i], out.Buf[s.Begin:s.End], urgent(s.Priority, s.Rest, s.End-s.Begin), s.Message.Kind.HasMembers(), out.Step)
	}
	for i := range out.Dispatches {
		s := &out.Dispatches[i]
		a.send(&out.Across[i], out.Buf[s.Begin:s.End], urgent(s.Priority, s.Rest, s.End-s.Begin), s.Priority, out.Step)
	}
	for i := range out.Events {
		a.happened(&out.Events[i], out.Step)
	}
	a.inbox.Refill()
}

// watch begins or ends watching the connection with a node (MS-A30).
func (a *Agent) watch(c *engine.Connection) {
	if stop := a.watched[c.To.ID]; stop != nil {
		stop()
		delete(a.watched, c.To.ID)
	}
	if !c.Matters {
		return
	}
	in := engine.AddressedInput{Input: engine.Input{Kind: engine.Down}, About: c.To.ID}
	if c.To.Across {
		in.Kind = engine.DispatchFailed
	}
	a.watched[c.To.ID] = a.table.WatchPeer(nid.ProcessID{NID: c.To.NID, PID: a.pid}, func(p portals.PeerChange) {
		if !p.Up && !p.Known {
			a.runner.Do(in)
		}
	})
}
