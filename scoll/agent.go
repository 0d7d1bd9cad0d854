package scoll

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/latency"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// View is the interface to discovery. A *gossip.Agent implements it.
type View interface {
	// Alive reports whether a node is alive, and how often it has died. The number changes only when the node dies.
	Alive(id nid.NID) (alive bool, lifetime uint64)
	// Watch calls f for every node that is alive now, and then whenever a node dies or comes
	// alive, until stop.
	Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func())
}

// Agent runs collectives at a node: it steps the machine of scoll/engine, posts buffers, sends
// messages, and calls services. It has no goroutine of its own.
//
// Methods are safe for concurrent use, and may be called from callbacks.
type Agent struct {
	table   *portals.Table
	cfg     Config
	self    nid.NID
	pid     nid.PID
	runner  *machine.Runner[engine.Input, engine.Output]
	m       *engine.Machine // stepped by runner
	log     *slog.Logger
	unwatch func()

	signer *keyring.Signer
	inbox  portals.Inbox // queue of arrived requests
	missed atomic.Uint64 // inbox.NotPosted, as of the latest log message about it
	others atomic.Uint64 // messages of processes with another PID
	outbox portals.Outbox[sending]
	// refusals sends the replies that belong to no request of this node, except for those to strangers, which the
	// outbox strangers sends. Other nodes can cause any number of such replies, so both outboxes have bounds of their
	// own.
	refusals, strangers portals.Outbox[sending]
	due                 due

	mu       sync.Mutex
	services map[ServiceID]*Service // guarded by mu
	open     openAnswers
	ctx      context.Context // context of handlers and calls; it ends when the agent closes
	cancel   context.CancelFunc
	closing  atomic.Bool
	silent   chan struct{} // closed when the agent does not take part any more
	finish   sync.Once

	posts    sync.Pool // free values of type *post
	payloads sync.Pool // free values of type *[]byte
	handles  sync.Pool // free values of type *Request, all zero

	bulkModified atomic.Uint64
	latency      latency.Histogram

	warnings [2]time.Duration // when the next warning of each kind may be logged; owned by apply, like all below
	requests map[engine.RequestID]*Request
	lists    map[engine.RequestID]*fetch
}

// New returns an agent, which takes part in collectives from then on. Errors:
// [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] for a node that lacks one of these; an
// *[Error] if Config.Self is no NID of the node, or is not set and the node has several; or the error of
// posting buffers.
func New(table *portals.Table, cfg Config) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{
		table: table, cfg: cfg, self: cfg.Self, pid: table.Node().PID(), log: cfg.Log,
		services: make(map[ServiceID]*Service), requests: make(map[engine.RequestID]*Request), lists: make(map[engine.RequestID]*fetch),
	}
	if err := a.fill(); err != nil {
		return nil, err
	}
	a.silent = make(chan struct{})
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.signer = a.cfg.Keys.Signer(keyLabel)
	a.m = engine.New(a.cfg.Engine())
	a.cfg.MaxTimeout = a.m.Config().MaxTimeout
	a.due.init(a)
	a.posts.New, a.payloads.New = newPost, func() any { return new([]byte) }
	a.handles.New = func() any { return new(Request) }
	a.outbox.Open(table, portals.OutboxConfig[sending]{Done: a.sent})
	a.refusals.Open(table, refusalBounds)
	a.strangers.Open(table, refusalBounds)
	a.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: a.m, Clock: callClock{a.cfg.Clock, a}, Apply: a.apply,
		Fault: func(err error) { a.log.Error("scoll timer", slog.Any("err", err)) },
	})
	err := a.inbox.Open(table, portals.InboxConfig{
		Portal: wire.RequestPortal, Buffers: a.cfg.Buffers, Size: MaxMessage, Truncate: true, HandleFirst: true, Handle: a.arrived,
	})
	if err != nil {
		return nil, fmt.Errorf("scoll: post buffers: %w", err)
	}
	a.do(engine.Input{Kind: engine.Timer})
	if cfg.View != nil {
		a.unwatch = cfg.View.Watch(a.heard)
	}
	return a, nil
}

// fill checks the configuration and sets its defaults.
func (a *Agent) fill() error {
	a.log = cmp.Or(a.log, slog.New(slog.DiscardHandler))
	self, ok := a.table.SelfOf(a.cfg.Self)
	switch {
	case ok:
		a.self = self
	case a.cfg.Self.IsValid():
		return wrong(OK, "%v is no NID of this node: %s", a.cfg.Self, errNoNID.Why)
	default:
		return errNoNID
	}
	a.cfg.MaxPayload = min(orElse(a.cfg.MaxPayload, portals.MaxPayload), portals.MaxPayload)
	a.cfg.Self = a.self
	a.cfg.Incarnation = cmp.Or(a.cfg.Incarnation, a.table.Node().Incarnation())
	a.cfg.Clock = cmp.Or(a.cfg.Clock, a.table.Node().Clock())
	if a.cfg.Worker == nil {
		a.cfg.Worker = func(f func()) { a.cfg.Clock.AfterFunc(time.Nanosecond, f) }
	}
	a.cfg.Buffers = orElse(a.cfg.Buffers, 64)
	return nil
}

func orElse(n, d int) int {
	if n <= 0 {
		return d
	}
	return n
}

// Close stops the agent. It refuses further questions to handlers (ECANCELED), ends the
// contexts of running handlers, and waits up to a second until their answers are sent; members
// below this one may have to answer first. After that the agent calls no more callbacks, and
// Close waits for running ones to return; a callback must not call Close. If ctx ends before
// they return, Close returns an error. In that case buffers of requests stay posted, and
// fetches go on, until Close is called again or the node is closed. Other requests under way
// are not answered. Messages under way may use the agent's memory until the node is closed, so
// close the node next.
func (a *Agent) Close(ctx context.Context) error {
	if a.closing.CompareAndSwap(false, true) {
		a.fallSilent(ctx)
	}
	for _, done := range []<-chan struct{}{a.silent, a.due.idle} {
		select {
		case <-done:
			continue
		default:
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("scoll: closed, but a callback has not returned: %w", context.Cause(ctx))
		}
	}
	a.finish.Do(a.giveUp)
	return nil
}

// fallSilent stops taking part in collectives; callbacks that run go on.
func (a *Agent) fallSilent(ctx context.Context) {
	defer close(a.silent)
	a.cancel()
	a.open.wait(ctx)
	if a.unwatch != nil {
		a.unwatch()
	}
	a.runner.Close()
	a.due.close()
	a.inbox.Close()
}

// giveUp unlinks the buffers of all requests and stops all fetches. It is called when no
// callback can start more of them.
func (a *Agent) giveUp() {
	for _, r := range a.requests { // any order: each request has buffers of its own
		r.unlinkAll()
		r.frame.stop()
	}
	for _, f := range a.lists { // any order: each fetch has GETs of its own
		f.stop()
	}
}

// arrived takes a request, unless it comes from another process of a node than the one with the PID that
// all members share, such as the program of a user. It also takes a request that was truncated because its buffer was
// too short, so that the machine refuses and counts it. The machine copies the data that it
// keeps.
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if n := a.inbox.NotPosted(); n != a.missed.Swap(n) {
		a.log.Error("scoll: no buffer posted", slog.Uint64("times", n))
	}
	if e.Source.PID != a.pid {
		a.others.Add(1)
		return
	}
	a.deliver(engine.Input{
		Kind: engine.Arrival, From: e.Source.NID, Data: data, Cut: e.RLength > e.MLength, Wall: a.wall(),
		Signed: a.isSigned(data, e.Source.NID),
	})
}

// Stats returns the counters of the machine, OtherProcess and RefusalsUnsent.
func (a *Agent) Stats() (s Stats) {
	a.runner.Inspect(func() { s = a.m.Stats() })
	s.OtherProcess = a.others.Load()
	s.RefusalsUnsent = a.refusals.NotSent() + a.strangers.NotSent()
	return s
}

// mostAsked bounds how often ask reports the state of one node to the machine.
const mostAsked = 8

// ask reads from discovery the state of nodes that discovery has not reported yet, and reports it to the machine. If
// the state changes meanwhile, the machine may get the new state from discovery first, and then the old one from ask.
// So ask reads the state again after each report, and reports it again until it has not changed. It does so at most
// mostAsked times, because the lifetimes of a View may rise without deaths.
func (a *Agent) ask(ids []nid.NID) {
	if a.cfg.View == nil {
		return
	}
	for _, id := range ids {
		alive, lifetime := a.cfg.View.Alive(id)
		changed := alive
		for n := 0; changed && n < mostAsked; n++ {
			a.tell(engine.Input{Kind: engine.Health, From: id, Alive: alive, Lifetime: lifetime})
			before, deaths := alive, lifetime
			alive, lifetime = a.cfg.View.Alive(id)
			changed = alive != before || lifetime != deaths
		}
	}
}

// Alive reports whether a node is alive and how often it has died, as Config.View says. Without a View all nodes count as
// alive, and none has died.
func (a *Agent) Alive(id nid.NID) (alive bool, lifetime uint64) {
	if a.cfg.View == nil {
		return true, 0
	}
	return a.cfg.View.Alive(id)
}

// BulkModified returns how many requests had their bulk data modified by a service. It is 0
// without Config.CheckBulk.
func (a *Agent) BulkModified() uint64 { return a.bulkModified.Load() }

// Latency returns how long the broadcasts and calls of this node as the root took, each from
// [Request.Send] until each member below had answered or was given up. All are counted but those that
// were never sent. A [Group.Call] that is repeated counts each time.
func (a *Agent) Latency() latency.Snapshot { return a.latency.Snapshot() }

// Groups returns the state of the groups that this node knows.
func (a *Agent) Groups() (list []GroupState) {
	a.runner.Inspect(func() { list = a.m.Groups() })
	return list
}

// apply applies the effects of a step.
func (a *Agent) apply(out *engine.Output) {
	a.due.applying.Store(true)
	for rest := out.Effects; len(rest) > 0; {
		n := sendsIn(rest)
		if n > 0 {
			a.forward(rest[:n], out)
		} else {
			n = 1
			a.effect(&rest[0], out)
		}
		rest = rest[n:]
	}
	a.due.applying.Store(false)
}

func (a *Agent) effect(e *engine.Effect, out *engine.Output) {
	switch e.Kind {
	case engine.DoReply:
		a.request(e.ID).sendUp(e, out)
	case engine.DoRefuse:
		a.refuse(e, out)
	case engine.DoUnpost:
		a.request(e.ID).unpost(e.Child)
	case engine.DoRepost:
		e.Token.(*post).again(e)
	case engine.DoExpose:
		a.request(e.ID).expose(e)
	case engine.DoFetch:
		a.fetch(e, out)
	case engine.DoFetchMore:
		a.request(e.ID).frame.more(int(e.Limit))
	case engine.DoTell:
		a.sendProgress(e, out)
	case engine.DoStop:
		a.stopFetch(e.ID)
	case engine.DoWithdraw:
		a.request(e.ID).withdraw()
	case engine.DoFree:
		delete(a.lists, e.ID)
		if r := a.requests[e.ID]; r != nil {
			delete(a.requests, e.ID)
			r.recycle()
		}
	case engine.CallIncoming:
		a.request(e.ID).incoming(e.Status)
	case engine.WarnAhead:
		a.warnAhead(e)
	case engine.Began, engine.Refused, engine.Created:
		a.ours(e, out)
	default:
		a.callFor(e, out)
	}
}

// request returns the request of an id. It creates a request for an id that no service knows,
// because the request concerns the module alone.
func (a *Agent) request(id engine.RequestID) *Request {
	r := a.requests[id]
	if r == nil {
		r = a.handles.Get().(*Request)
		r.agent, r.id = a, id
		a.requests[id] = r
	}
	return r
}
