package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// Error is an error of this package, whose text says what to do.
type Error struct {
	Why   string        // what is wrong, and what to do
	Errno syscall.Errno // of Join: why the node is not in the session; 0: another error
}

// Unwrap returns the errno.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Error implements error.
func (e *Error) Error() string { return "selftest: " + e.Why }

// ErrTaken says that this node has an agent already.
var ErrTaken error = &Error{Why: "this node is a test node already: close the other agent first"}

// ErrBusy says that a request was still being handled when Close returned.
var ErrBusy error = &Error{Why: "a request is still being handled: give Close more time"}

// Agent makes a node a test node: it serves consoles and test clients, and runs the tests of this
// node. Methods are safe for concurrent use.
type Agent struct {
	table     *portals.Table
	clock     machine.Clock
	log       *slog.Logger
	node      *engine.Node // the machine of the test node; only runner steps it
	runner    *machine.Runner[engine.Input, engine.Output]
	framework portals.Inbox              // requests of consoles
	tests     portals.Inbox              // requests of test clients
	outbox    portals.Outbox[uint64]     // requests that this node sends, by the numbers of their RPCs
	replies   portals.Outbox[struct{}]   // replies that this node sends; they have an outbox of their own, so that requests to many nodes do not keep them from leaving
	strangers portals.Outbox[struct{}]   // replies to nodes that Config.Allow refuses; they do not keep those to others from leaving
	overload  atomic.Uint64              // requests dropped because too many effects waited, and replies not sent because too many did
	join      atomic.Pointer[func(Join)] // function that gets JOIN requests; nil: this node has no console
	memory    *bulkMemory                // memory of bulk data

	answers func(*portals.Event) // the method value a.replyArrived, stored so that an RPC need not allocate it

	mu       sync.Mutex
	answered []*answer                      // memory of replies that have been read, for use by later RPCs; guarded by mu
	posted   map[uint64]memory              // memory of transfers and RPCs under way, by their numbers; guarded by mu
	joining  map[uint64]func(engine.Joined) // Joins under way, by their numbers; guarded by mu
	joins    uint64                         // number of the latest Join; guarded by mu
	closing  bool                           // Close was called, so no Join begins any more; guarded by mu
	closed   bool                           // the agent is closed; guarded by mu
}

// New makes the node a test node. Errors: ErrTaken; [portals.ErrNoLoopback] or
// [portals.ErrNoDiscovery] if the node lacks one of these; or the error of posting buffers.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{table: table, memory: newBulkMemory(), posted: map[uint64]memory{}, joining: map[uint64]func(engine.Joined){}}
	a.clock = cmp.Or(cfg.Clock, table.Node().Clock())
	a.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	c := cfg.Engine()
	c.FirstID = firstID(table.Node().Incarnation())
	a.answers = a.replyArrived
	var err error
	if a.node, err = engine.NewNode(c); err != nil {
		return nil, err
	}
	a.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: a.node, Clock: a.clock, Apply: a.apply, Turn: turn,
		Fault: func(err error) { a.log.Error("selftest: the machine is at fault", slog.Any("error", err)) },
	})
	a.outbox.Open(table, portals.OutboxConfig[uint64]{MaxBytes: mostBytes, PeerMessages: mostMessages, Done: a.left})
	a.openReplies()
	if err := a.open(); err != nil {
		a.runner.CloseWithin(0) // no one will use the agent, so close the machine: a request that arrived while open was under way has no effect any more
		a.closeOutboxes()
		return nil, err
	}
	return a, nil
}

// open posts the buffers for requests.
func (a *Agent) open() error {
	err := a.framework.Open(a.table, portals.InboxConfig{Portal: wire.FrameworkPortal, Buffers: buffers, Size: wire.MessageSize, HandleFirst: true, Handle: a.arrived})
	if err == nil {
		if err = a.tests.Open(a.table, portals.InboxConfig{Portal: wire.TestPortal, Buffers: buffers, Size: wire.MessageSize, Handle: a.arrived}); err != nil {
			a.framework.Close()
		}
	}
	if errors.Is(err, portals.ErrInUse) {
		return ErrTaken
	}
	if err != nil {
		return fmt.Errorf("selftest: post buffers: %w", err)
	}
	return nil
}

// firstID returns one less than the number of the first RPC. Like the numbers of kernel nodes it
// has the seconds of the node's start in its highest 16 bits, and nanoseconds below these, so that
// the numbers of the node's earlier incarnation are not used again.
func firstID(incarnation uint64) uint64 {
	const second = uint64(time.Second)
	return max(1, incarnation/second<<48|incarnation%second<<16)
}

// arrived hands a request to the machine.
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if e.MatchBits>>32 != 0 || int(wire.Service(e.MatchBits).Portal()) != e.Portal {
		e.MatchBits = 1<<32 - 1 // the number of no service, so that the request counts as malformed
	}
	if a.runner.Pending() > mostPending {
		a.overload.Add(1)
		return
	}
	in := engine.Input{Kind: engine.Arrived, Peer: e.Source, Self: e.Target.NID, Service: wire.Service(e.MatchBits), Data: data}
	in.Console = a.join.Load() != nil
	if in.Service == wire.StatService {
		in.LNet = a.counters()
	}
	a.runner.Do(in)
}

// Recheck is to be called when Config.Allow allows other nodes than before. A session whose console or one
// of whose destinations is no longer allowed ends with its tests, and requests of such nodes that wait
// are dropped; the log tells of it.
func (a *Agent) Recheck() { a.runner.Do(engine.Input{Kind: engine.Recheck}) }

// counters returns the counters of the node's LNet, which wrap at 32 bits.
func (a *Agent) counters() wire.LNetStats {
	s := a.table.Node().Stats()
	return wire.LNetStats{
		Messages: uint32(s.MsgsAlloc), MostMessages: uint32(s.MsgsMax), Errors: uint32(s.Errors),
		Sent: uint32(s.SendCount), Received: uint32(s.RecvCount), Routed: uint32(s.RouteCount), Dropped: uint32(s.DropCount),
		SentBytes: s.SendLength, ReceivedBytes: s.RecvLength, RoutedBytes: s.RouteLength, DroppedBytes: s.DropLength,
	}
}

// apply carries out the effects of a step.
func (a *Agent) apply(out *engine.Output) {
	for i := range out.Effects {
		switch e := &out.Effects[i]; e.Kind {
		case engine.DoReply:
			a.reply(e)
		case engine.DoPut:
			a.put(e)
		case engine.DoGet:
			a.get(e)
		case engine.DoCall:
			a.call(e)
		case engine.DoUnpost:
			a.unpost(e.ID)
		case engine.DoCancel:
			a.release(e.ID)
		case engine.DoFree:
			a.forget(e.ID)
		case engine.DoJoin:
			a.giveJoin(e)
		case engine.DoAnswer:
			a.joinEnded(e.ID, e.Joined)
		case engine.DoTellEnd:
			a.log.Warn("a session of selftest has ended: its console or a destination of its tests is no longer allowed", slog.Any("console", e.Peer))
		}
	}
}

// request puts a request, from a NID that LNet chooses.
func (a *Agent) request(e *engine.Effect) {
	m := a.outbox.New()
	m.Data = append(m.Data, e.Data...)
	m.Note = e.ID
	a.outbox.Put(m, portals.PutRequest{Target: e.Peer, Portal: int(e.Service.Portal()), MatchBits: uint64(e.Service)})
}

// left is called when a request has left, or cannot be sent.
func (a *Agent) left(call uint64, err error) {
	a.runner.Do(engine.Input{Kind: engine.Sent, ID: call, Failed: err != nil})
}

// Status returns the session and the counters of the node.
func (a *Agent) Status() Status {
	var s engine.Stats
	a.runner.Inspect(func() { s = a.node.Stats() })
	s.Overload += a.overload.Load()
	return statusOf(s)
}

// Latency counts RPCs by the time that they took.
type Latency = engine.Latency

// Latencies returns a histogram of the RPCs of this node as client that succeeded, since the
// agent's start: the buckets that are not empty, in the order of their times.
func (a *Agent) Latencies() (list []Latency) {
	a.runner.Inspect(func() { list = a.node.Latencies() })
	return list
}

// Close ends the test node: no request is answered any more, and RPCs under way end without a
// result. It waits until the requests that are being handled have ended. If ctx ends first, it
// returns ErrBusy.
func (a *Agent) Close(ctx context.Context) error {
	a.framework.Close()
	a.tests.Close()
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	a.endJoins()
	wait := time.Minute
	if left, ok := machine.Left(ctx); ok {
		wait = min(wait, max(left, 0))
	}
	if ctx.Err() != nil {
		wait = 0
	}
	over := a.runner.CloseWithin(wait)
	a.mu.Lock()
	a.closed = true
	ids := slices.Collect(maps.Keys(a.posted)) // any order: the RPCs are independent
	a.mu.Unlock()
	for _, id := range ids {
		a.release(id)
	}
	a.closeOutboxes()
	if !over {
		return ErrBusy
	}
	return nil
}
