package rmcast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// View is the interface of a membership service that managers use. A *gossip.Agent implements
// it, and Certain.
type View interface {
	// Watch calls f for every node that is alive now, and then each time a node dies or comes
	// back, until stop is called.
	Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func())
}

// Certain is an optional interface of a View that also reports nodes as dead when they are only cut off. A manager
// counts such a death only if Ended returns true, and the manager does not hear the member any more. Without Certain,
// each death that Watch reports counts at once, so a View that cannot tell must not report nodes that may be alive:
// otherwise a minority partition releases messages that members elsewhere lack.
type Certain interface {
	// Ended reports whether a death that Watch has reported is certain: most nodes of a fixed set, the same on all
	// nodes, consider the node dead. So at most one side of a partition can be certain of a death on the other. ago is
	// the time since the manager first heard of the process that now runs on the node. Ended returns false if that
	// process may still run, because the death may be that of an earlier process. A manager asks again and again: about a
	// new death four times a second, and ever more seldom while nothing changes, at least every four seconds.
	Ended(id nid.NID, ago time.Duration) bool
}

// Config configures an [Agent].
type Config struct {
	Self nid.NID      // the NID of this node that takes part; may be zero on a node with one NID
	View View         // health of nodes for managers, such as a *gossip.Agent; nil: deaths are detected by silence only
	Log  *slog.Logger // nil: nothing is logged
	// Clock is the agent's clock. By default it is the node's clock, which does not count the time for which
	// the system was suspended; machine.CountSuspensions makes one that does.
	Clock machine.Clock
	// Wall is the wall clock with which epochs and incarnations of others are compared: those more than a day above it
	// are refused. If Wall is nil, the agent estimates it: the incarnation of the node, which is the wall clock at its
	// start, plus the node's age; at least Incarnation. If the clock is later set forward by more than a day, such an
	// agent refuses nodes that start after that.
	Wall func() time.Time
	// Incarnation rises with each start of the node, and for a further agent of the node it is above
	// the incarnations of all members of the earlier ones: a member with the ID of an earlier one is
	// expelled, which takes seconds, and joins with another ID. Default: the node's incarnation, plus
	// its age in nanoseconds.
	Incarnation uint64
	// Buffers is the number of datagrams that can wait for delivery. Further ones wait at the
	// sender or, if they came by multicast, are lost. Default 64.
	Buffers int
	// Fragment is the largest payload of a datagram that this node can receive, in bytes. A
	// node with less than others lowers the group's fragment size, or is refused: see
	// ManagerConfig.LeastFragment. Default 4096.
	Fragment int
	// Members bounds the members of a group, and the lists that this node can receive: on no node may it be lower than
	// on the managers. Default 1024.
	Members int
	// Keys sign all messages of this node and are required of others: all nodes of a group
	// need the same keys. Without keys, messages are not signed.
	Keys keyring.Keys
}

// Agent lets a node take part in groups, and manage them. It has no goroutine of its own:
// messages are handled and delivered in the goroutine that brought them.
//
// Methods are safe for concurrent use.
type Agent struct {
	table *portals.Table
	cfg   Config
	pid   nid.PID
	log   *slog.Logger

	data, control, orders portals.Inbox
	// outbox sends the messages between members and their manager. The two others send a manager's answers to messages
	// that change nothing: strangers those to nodes that may not be members, refusals those to all other nodes.
	outbox, refusals, strangers portals.Outbox[struct{}]
	applying                    atomic.Int32 // number of goroutines that may be running a handler
	signer                      *keyring.Signer
	doubtful                    doubtful

	groups       atomic.Pointer[map[GroupID]*Group]    // groups by id; replaced as a whole, under mu
	manages      atomic.Pointer[map[GroupID]*managing] // managers by group; replaced as a whole, under mu
	mu           sync.Mutex
	stopped      bool               // the agent is closed; guarded by mu, like incarnations
	incarnations map[GroupID]uint64 // for each group that this node has left: incarnation with which the node would join it again
	handling     []*Group           // groups that were left, but whose handlers may still be running; guarded by mu

	strays atomic.Uint64 // messages for groups that this node is not in
}

// errNoNID says that a node has several NIDs, or none, and Config.Self is not set.
var errNoNID = &Error{Why: "say which NID of this node takes part"}

// ErrClosed says that the agent was closed, or that the group was left.
var ErrClosed error = &Error{Why: "the group was left, or the node stops"}

// ErrTaken says that this node has an agent already, is already a member of the group, or
// already manages it.
var ErrTaken error = &Error{Why: "this node has an agent, or does that in this group, already"}

// New starts an agent. A node has one agent for all of its groups. Errors: ErrTaken if there is
// another agent that was not closed; an *[Error] if Config.Self is no NID of the node, or missing and needed;
// [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] if the node lacks one of these; or the
// error of posting the buffers.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{table: table, cfg: cfg, pid: table.Node().PID(), log: cfg.Log, incarnations: make(map[GroupID]uint64)}
	if err := a.fill(); err != nil {
		return nil, err
	}
	a.groups.Store(&map[GroupID]*Group{})
	a.manages.Store(&map[GroupID]*managing{})
	a.outbox.Open(table, memberBounds)
	a.refusals.Open(table, refusalBounds)
	a.strangers.Open(table, refusalBounds)
	a.signer = cfg.Keys.Signer(keyLabel)
	inboxes := []struct {
		inbox *portals.Inbox
		cfg   portals.InboxConfig
	}{
		{&a.data, portals.InboxConfig{Portal: wire.DataPortal, Buffers: a.cfg.Buffers, Size: wire.HeaderSize + a.cfg.Fragment + keyring.CodeSize, Handle: a.arrived}},
		{&a.control, portals.InboxConfig{Portal: wire.ControlPortal, Buffers: 16, Size: wire.MaxControl + keyring.CodeSize, Handle: a.told}},
		{&a.orders, portals.InboxConfig{ // a list names up to Members members, and up to 3*Members with those that have departed
			Portal: wire.ManagerPortal, Buffers: 4, Size: wire.OrderSize + a.cfg.Members*(wire.MemberSize+2*wire.DepartedSize) + keyring.CodeSize, Handle: a.instructed,
		}},
	}
	for i, in := range inboxes {
		if err := in.inbox.Open(table, in.cfg); err != nil {
			for _, open := range inboxes[:i] {
				open.inbox.Close()
			}
			if errors.Is(err, portals.ErrInUse) {
				err = ErrTaken
			}
			return nil, fmt.Errorf("rmcast: post buffers: %w", err)
		}
	}
	return a, nil
}

// fill sets the defaults of the configuration.
func (a *Agent) fill() error {
	c := &a.cfg
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	self, ok := a.table.SelfOf(c.Self)
	switch {
	case ok:
		c.Self = self
	case c.Self.IsValid():
		return &Error{Why: fmt.Sprintf("%v is no NID of this node: %s", c.Self, errNoNID.Why)}
	default:
		return errNoNID
	}
	if node := a.table.Node(); c.Incarnation == 0 {
		c.Incarnation = node.Incarnation() + uint64(max(node.Age(), 0))
	}
	if c.Clock == nil {
		c.Clock = a.table.Node().Clock()
	}
	c.Buffers = max(orDefault(c.Buffers, 64), 1)
	c.Fragment = min(orDefault(c.Fragment, 4096), engine.MaxFragment)
	c.Members = min(orDefault(c.Members, 1024), wire.MaxMembers)
	return nil
}

// wall returns the wall clock, in nanoseconds since 1970.
func (a *Agent) wall() uint64 {
	if a.cfg.Wall == nil {
		node := a.table.Node()
		return max(node.Incarnation()+uint64(max(node.Age(), 0)), a.cfg.Incarnation)
	}
	return uint64(max(a.cfg.Wall().UnixNano(), 0))
}

func orDefault(n, d int) int {
	if n <= 0 {
		return d
	}
	return n
}

// Close leaves all groups at once. Close does not wait for messages in flight: their senders
// get ErrClosed. Managers are told that this node is not a member any more. Close waits for
// running handlers for up to a second, and then returns ErrHandling; it does not wait if ctx
// has ended or a handler calls it. A handler that still runs continues in its goroutine, and no
// handler is called again. A further call waits for it as well.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	again := a.stopped
	a.stopped = true
	groups := slices.AppendSeq(slices.Clone(a.handling), maps.Values(*a.groups.Load())) // any order: groups are independent; one that is being left may be in both lists
	manages := *a.manages.Load()
	a.mu.Unlock()
	if !again {
		a.data.Close()
		a.control.Close()
		a.orders.Close()
	}
	by, over := a.closeBy(ctx), true
	for _, g := range groups {
		over = g.close(by) && over
	}
	for _, m := range manages { // any order: the managers are independent
		m.close(by)
	}
	if !over && !a.inHandler() {
		return ErrHandling
	}
	return nil
}

// Strays counts messages for groups that this node is not in, and messages of processes other
// than agents.
func (a *Agent) Strays() uint64 { return a.strays.Load() }

// NotSent counts messages between members and managers, and multicasts, that did not leave: LNet failed, the receiver was
// unreachable, or too many messages waited for it to read them.
func (a *Agent) NotSent() uint64 { return a.outbox.NotSent() }

// RefusalsUnsent counts a manager's answers to messages that it refused which did not leave: the node was unreachable, or
// too many such answers waited for it, or for all nodes, to read them.
func (a *Agent) RefusalsUnsent() uint64 { return a.refusals.NotSent() + a.strangers.NotSent() }

// arrived handles a message to the portal of datagrams.
func (a *Agent) arrived(e *portals.Event, b []byte) { a.step(engine.Arrival, wire.DataPortal, e, b) }

// told handles a message to the portal of control messages.
func (a *Agent) told(e *portals.Event, b []byte) { a.step(engine.Control, wire.ControlPortal, e, b) }

func (a *Agent) step(kind engine.InputKind, portal int, e *portals.Event, b []byte) {
	b, ok := a.opened(portal, e, b)
	if !ok {
		return
	}
	g := (*a.groups.Load())[wire.GroupOf(b)]
	if g == nil {
		a.strays.Add(1)
		return
	}
	g.runner.Do(engine.Input{Kind: kind, From: e.Source.NID, Data: b, Multicast: e.Group != 0})
}

// instructed handles a message to the portal of managers: from a member to a manager, or from a
// manager.
func (a *Agent) instructed(e *portals.Event, b []byte) {
	b, ok := a.opened(wire.ManagerPortal, e, b)
	if !ok {
		return
	}
	in, id := engine.Input{Kind: engine.Instructed, From: e.Source.NID, Data: b, Wall: a.wall()}, wire.GroupOf(b)
	m, g := (*a.manages.Load())[id], (*a.groups.Load())[id]
	if m == nil && g == nil {
		a.strays.Add(1)
	}
	if m != nil {
		m.runner.Do(in)
	}
	if g != nil {
		g.runner.Do(in)
	}
}
