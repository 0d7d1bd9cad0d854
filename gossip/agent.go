package gossip

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"ulnet/gossip/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// AgentConfig configures an [Agent].
type AgentConfig struct {
	Config
	Log *slog.Logger // nil discards
	// Clock shows by its jumps that the node stood still. Default the node's;
	// in real time machine.BootClock notices more.
	Clock machine.Clock
	// Changed is told of each change in turn, as History has it. It is called where the
	// machine is stepped: it must neither block nor call the agent. May be nil.
	Changed func(Change)
}

// Agent lets a node take part: it steps a [Machine], posts buffers for what
// arrives, and sends what the machine wants sent. It has no goroutine of its
// own.
//
// Methods are safe for concurrent use.
type Agent struct {
	table  *portals.Table
	cfg    AgentConfig
	self   nid.NID // the NID that takes part
	pid    nid.PID // of all participants
	clock  machine.Clock
	runner *machine.Runner[Input, Output]
	m      *Machine // stepped by runner

	inbox    portals.Inbox
	outbox   portals.Outbox[struct{}]
	watchers watchers
	log      *slog.Logger

	changing sync.Mutex // held while the list is staged, committed or given up

	mu      sync.Mutex
	history history // guarded by mu
	stopped bool    // by Stop; guarded by mu

	strayBits atomic.Uint64
	otherPID  atomic.Uint64
}

// Start begins to take part in the gossip of the participants on a list, as
// the one of them that is a NID of this node. The error is a *ConfigError for
// parameters that do not fit and for a list with no NID of this node or with
// several, [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] for a node that lacks
// one of these, otherwise what portals says of the buffers.
func Start(table *portals.Table, list *List, cfg AgentConfig) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	self, err := selfOf(table, list)
	if err != nil {
		return nil, err
	}
	a := &Agent{table: table, cfg: cfg, self: list.NID(self), pid: table.Node().PID(), log: cfg.Log}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.m, err = New(cfg.Config, list, self); err != nil {
		return nil, err
	}
	if a.clock = cfg.Clock; a.clock == nil {
		a.clock = table.Node().Clock()
	}
	a.watchers.init(a.clock)
	a.outbox.Open(table, bounds)
	a.runner = machine.NewRunner(machine.Config[Input, Output]{
		Machine: a.m, Clock: a.clock, Apply: a.apply,
		Fault: a.fault,
	})
	// A buffer takes a message of any size, so that a longer list needs no other ones
	// (seed 003, Buffer Management).
	if err := a.inbox.Open(table, portals.InboxConfig{Portal: wire.Portal, Handle: a.arrived}); err != nil {
		return nil, fmt.Errorf("gossip: post buffers: %w", err)
	}
	a.runner.Do(Input{})
	return a, nil
}

// What selfOf returns instead of an index.
const (
	noSelf        = -1
	severalSelves = -2
)

// selfOf returns the index of the only NID of this node in a list.
func selfOf(table *portals.Table, list *List) (int, error) {
	self := noSelf
	for _, id := range table.Node().IDs() {
		i := list.Index(id.NID)
		switch {
		case i < 0:
		case self >= 0:
			return severalSelves, invalid("%v and %v of this node are both participants: list one", list.NID(self), id.NID)
		default:
			self = i
		}
	}
	if self < 0 {
		return noSelf, invalid("no NID of this node is among the %d participants: add one to the list", list.Len())
	}
	return self, nil
}

// Stop ends taking part: nothing is sent or answered any more, and messages
// that wait for a buffer are dropped (seed 003, Stop protocol).
func (a *Agent) Stop() {
	a.mu.Lock()
	again := a.stopped
	a.stopped = true
	a.mu.Unlock()
	if again {
		return
	}
	a.runner.Close()
	a.inbox.Close()
	a.watchers.close()
}

// apply does what a step wants done.
func (a *Agent) apply(out *Output) {
	for i := range out.Sends {
		a.send(&out.Sends[i], out)
	}
	for i := range out.Events {
		a.happened(&out.Events[i])
	}
	a.inbox.Refill()
}
