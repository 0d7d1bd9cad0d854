package gossip

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"ulnet/gossip/engine"
	"ulnet/gossip/internal/watch"
	"ulnet/gossip/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Agent lets a node take part in gossip, from [New] to [Agent.Close]: it steps a machine, posts
// buffers for incoming messages, and sends the messages that the machine puts out. It has no
// goroutine of its own: messages that arrive and timers of the node's clock step it. Other
// protocols learn from it which nodes are alive, through an interface such as health.View.
//
// Methods are safe for concurrent use.
type Agent struct {
	table  *portals.Table
	cfg    Config
	self   nid.NID // the NID of this node that takes part in gossip
	pid    nid.PID // the PID of every participant's agent
	clock  machine.Clock
	runner *machine.Runner[engine.Input, engine.Output]
	m      *engine.Machine // the machine, which runner steps

	inbox    portals.Inbox
	outbox   portals.Outbox[struct{}]
	watchers watch.Watchers[change]
	log      *slog.Logger

	closing  sync.Once
	closed   atomic.Bool // Close was called
	changing sync.Mutex  // held while the list is staged, committed or given up

	mu      sync.Mutex
	history history // guarded by mu

	strayBits atomic.Uint64
	otherPID  atomic.Uint64
}

// New makes this node take part in the gossip of the participants, as the participant whose NID
// is one of this node's. It returns an *[Error] for impossible parameters and for a list with
// no NID of this node or with several; [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] for
// a node that lacks one of these; and otherwise the error of posting the buffers.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	list, err := engine.NewList(cfg.Participants)
	if err != nil {
		return nil, err
	}
	self, err := selfOf(table, list)
	if err != nil {
		return nil, err
	}
	a := &Agent{table: table, cfg: cfg, self: list.NID(self), pid: table.Node().PID(), log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	if a.m, err = engine.New(cfg.Engine(), list, self); err != nil {
		return nil, err
	}
	a.clock = cmp.Or(cfg.Clock, table.Node().Clock())
	a.watchers.Init(a.clock)
	a.outbox.Open(table, bounds)
	a.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: a.m, Clock: a.clock, Apply: a.apply,
		Fault: a.fault,
	})
	// A buffer takes a message of any size, so the same buffers also serve a longer list (GO-50,
	// GO-51).
	if err := a.inbox.Open(table, portals.InboxConfig{Portal: wire.Portal, Handle: a.arrived}); err != nil {
		return nil, fmt.Errorf("gossip: post buffers: %w", err)
	}
	a.runner.Do(engine.Input{Kind: engine.Timer})
	return a, nil
}

// The values that selfOf returns instead of an index if it fails.
const (
	noSelf        = -1
	severalSelves = -2
)

// selfOf returns the index of the only NID of this node in a list.
func selfOf(table *portals.Table, list *engine.List) (int, error) {
	self := noSelf
	for _, id := range table.Node().IDs() {
		i := list.Index(id.NID)
		switch {
		case i < 0:
		case self >= 0:
			return severalSelves, wrong("%v and %v of this node are both participants: list one", list.NID(self), id.NID)
		default:
			self = i
		}
	}
	if self < 0 {
		return noSelf, wrong("no NID of this node is among the %d participants: add one to the list", list.Len())
	}
	return self, nil
}

func wrong(format string, args ...any) error {
	return &Error{Why: fmt.Sprintf(format, args...)}
}

// Close ends the agent's part in gossip: it sends and answers nothing any more, and drops messages
// that wait for a buffer (GO-48). Close waits for calls of functions given to [Agent.Watch] to
// return; if ctx ends first, it returns an error that says so. A function given to Watch must not
// call Close, which would wait for that function.
func (a *Agent) Close(ctx context.Context) error {
	a.closing.Do(func() {
		a.closed.Store(true)
		a.runner.Close()
		a.inbox.Close()
		a.watchers.Close()
	})
	return watch.Returned(ctx, a.watchers.Idle(), "gossip", "a function given to Watch")
}

// apply sends the messages and reports the events of a step.
func (a *Agent) apply(out *engine.Output) {
	for i := range out.Sends {
		a.send(&out.Sends[i], out)
	}
	for i := range out.Events {
		a.happened(&out.Events[i])
	}
	a.inbox.Refill()
}
