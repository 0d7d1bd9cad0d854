package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// ErrClosed says that the console is closed.
var ErrClosed error = &Error{Errno: syscall.ESHUTDOWN, Why: "the console is closed", Hint: "make another one"}

// Console is the console of one node. Methods are safe for concurrent use.
type Console struct {
	table   *portals.Table
	clock   machine.Clock
	log     *slog.Logger
	console *engine.Console // the machine of the console; only runner steps it
	runner  *machine.Runner[engine.Input, engine.Output]
	outbox  portals.Outbox[uint64]   // requests, by the numbers of their RPCs
	replies portals.Outbox[struct{}] // replies to JOIN requests
	alone   func()                   // function that ends the serving of JOIN requests

	mu       sync.Mutex
	posted   map[uint64]memory              // memory of RPCs under way, by their numbers; guarded by mu
	commands map[uint64]func(engine.Effect) // commands under way, by their numbers; guarded by mu
	last     uint64                         // number of the latest command; guarded by mu
	closed   bool                           // the console is closed; guarded by mu
}

// A goroutine that hands an event to the machine carries out the effects of about as many steps
// as the constant turn says, and no more. While the effects of mostPending steps wait, JOIN
// requests are dropped.
const (
	turn        = 1 << 10
	mostPending = 1 << 14
)

// Bounds of the requests on their way to all nodes (mostBytes) and to one node (mostMessages). A request to a node
// that cannot be reached stays on its way after its command has given the node up.
const (
	mostBytes    = 1 << 17 * wire.MessageSize
	mostMessages = 1 << 8
)

// Bounds of the replies to JOIN requests on their way: to all nodes (mostReplies), to one node (peerReplies), and how
// many may use the reserved half of mostReplies for each NID (ownReplies). Nodes that read no replies, however many, so
// leave room for others. A node has one Join under way at a time.
const (
	mostReplies = 1 << 12
	peerReplies = 8
	ownReplies  = 2
)

// New makes a console on a node. With agent, the test node of the same node, nodes may join the
// session by themselves (JOIN); nil: they cannot. Errors: [portals.ErrNoLoopback] or
// [portals.ErrNoDiscovery] if the node lacks one of these; EBUSY if agent has a console already.
func New(table *portals.Table, agent *selftest.Agent, cfg Config) (*Console, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	c := &Console{table: table, posted: map[uint64]memory{}, commands: map[uint64]func(engine.Effect){}}
	c.clock = cmp.Or(cfg.Clock, table.Node().Clock())
	c.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	ec := cfg.Engine()
	incarnation := table.Node().Incarnation()
	ec.FirstID, ec.FirstStamp = firstID(incarnation, c.clock.Now()), firstStamp(incarnation)
	var err error
	if c.console, err = engine.New(ec); err != nil {
		return nil, err
	}
	c.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: c.console, Clock: c.clock, Apply: c.apply, Turn: turn,
		Fault: func(err error) { c.log.Error("selftest console: the machine is at fault", slog.Any("error", err)) },
	})
	c.outbox.Open(table, portals.OutboxConfig[uint64]{MaxBytes: mostBytes, PeerMessages: mostMessages, Done: c.left})
	c.replies.Open(table, portals.OutboxConfig[struct{}]{PeerMessages: peerReplies, OwnMessages: ownReplies, MaxMessages: mostReplies})
	if c.alone = func() {}; agent != nil {
		if c.alone, err = agent.ServeJoin(c.joined); err != nil {
			return nil, fmt.Errorf("selftest console: this test node has a console already, close that first: %w", err)
		}
	}
	return c, nil
}

// apply carries out the effects of a step.
func (c *Console) apply(out *engine.Output) {
	for i := range out.Effects {
		switch e := &out.Effects[i]; e.Kind {
		case engine.DoCall:
			c.call(e)
		case engine.DoFree:
			c.release(e.ID)
		case engine.DoReply:
			m := c.replies.New()
			m.Data = append(m.Data, e.Data...)
			c.replies.Put(m, portals.PutRequest{Self: e.Self, Target: e.Peer, Portal: wire.BulkPortal, MatchBits: e.ID})
		case engine.DoAnswer:
			c.mu.Lock()
			done := c.commands[e.ID]
			delete(c.commands, e.ID)
			c.mu.Unlock()
			if done != nil {
				done(*e)
			}
		}
	}
}

// joined hands the request of a node to join the session to the machine.
func (c *Console) joined(j selftest.Join) {
	if c.runner.Pending() > mostPending {
		return
	}
	c.runner.Do(engine.Input{Kind: engine.Joined, Peer: j.Peer, Self: j.Self, ReplyID: j.ReplyID, Features: j.Features, Join: j.Request})
}

// start begins a command. done is called once, with its result, possibly before start returns.
func (c *Console) start(command engine.Command, done func(engine.Effect)) (id uint64) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		done(engine.Effect{Err: ErrClosed})
		return 0
	}
	c.last++
	id = c.last
	c.commands[id] = done
	c.mu.Unlock()
	c.runner.Do(engine.Input{Kind: engine.Do, ID: id, Command: command, Self: c.self()})
	return id
}

// run runs a command. When ctx ends, nodes without an answer are given up, and the error is
// that of ctx.
func (c *Console) run(ctx context.Context, command engine.Command) (engine.Result, error) {
	if err := ctx.Err(); err != nil {
		return engine.Result{}, err
	}
	return c.await(ctx, command)
}

// await does what run does, but begins the command even if ctx has ended already.
func (c *Console) await(ctx context.Context, command engine.Command) (engine.Result, error) {
	over := make(chan engine.Effect, 1)
	id := c.start(command, func(e engine.Effect) { over <- e })
	select {
	case e := <-over:
		return e.Result, e.Err
	case <-ctx.Done():
	}
	c.runner.Do(engine.Input{Kind: engine.Cancel, ID: id})
	e := <-over
	return e.Result, ctx.Err()
}

// self returns the NID of this node in the ids of sessions: the first NID with an address of 4 bytes
// that is not 0@lo. The result is not valid if there is none.
func (c *Console) self() nid.NID {
	for _, id := range c.table.Node().IDs() {
		if !id.NID.IsLo() && id.NID.Is4() {
			return id.NID
		}
	}
	return nid.NID{}
}

// Close ends the session: its nodes are asked to leave it. It waits for their answers until ctx
// ends, whose error it returns then; nodes that have not been asked leave the session when their
// time-outs end. Commands under way end with ESHUTDOWN, and later ones with ErrClosed.
func (c *Console) Close(ctx context.Context) error {
	c.alone()
	s, err := c.Session()
	if err == nil {
		_, err = c.await(ctx, &engine.EndSession{Key: s.Key})
	}
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ESHUTDOWN) {
		err = nil
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	wait := time.Minute
	if left, ok := machine.Left(ctx); ok {
		wait = min(wait, max(left, 0))
	}
	if ctx.Err() != nil {
		wait = 0
	}
	c.runner.CloseWithin(wait)
	c.mu.Lock()
	ids, commands := slices.Collect(maps.Keys(c.posted)), c.commands // any order: the RPCs are independent
	c.commands = nil
	c.mu.Unlock()
	for _, id := range ids {
		c.release(id)
	}
	for _, done := range commands { // any order: the commands are independent
		done(engine.Effect{Err: ErrClosed})
	}
	c.outbox.Close()
	c.replies.Close()
	return err
}
