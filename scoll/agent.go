package scoll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// The portals of collectives. Requests wait where there is no buffer; replies
// and fetches go to what was posted for them, or nowhere.
const (
	RequestPortal = 54
	ReplyPortal   = 55
	BulkPortal    = 56
)

// View is what collectives need to know of discovery. A *gossip.Agent is one.
type View interface {
	// Alive reports whether a node is alive, and how often it has died.
	Alive(id nid.NID) (alive bool, lifetime uint64)
	// Watch calls f for every node that is alive now, and then whenever one dies
	// or comes alive, until stop.
	Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func())
}

// AgentConfig configures an [Agent].
type AgentConfig struct {
	// Config: Self may be zero on a node with one NID, Incarnation is the
	// node's by default, and Watched follows from View.
	Config
	View View // nil: all nodes are alive
	// Wall is the wall clock with which incarnations are compared, see
	// IncarnationSlack. nil: the time since this node's own incarnation.
	Wall  func() time.Time
	Log   *slog.Logger // nil discards
	Clock machine.Clock
	// Keys sign all messages, if there are any; then what is not signed with one of them
	// is refused. All nodes have the same. [Agent.SetKeys] changes them.
	Keys keyring.Keys
	// Worker runs a function that may block, after it has returned itself, each
	// exactly once: Stop waits for them. They are IncomingRequest, and calls that
	// would otherwise be made within others or wait for them. Default: a timer of
	// Clock that is due at once, which on a real clock has a goroutine of its own.
	// Who can start goroutines saves the timer by that.
	Worker func(func())
	// Buffers is how many requests can arrive at a time without waiting, 4 KiB
	// each. Default 64.
	Buffers int
	// CheckBulk looks, at the cost of two checksums, whether services modify bulk
	// data while children fetch them; see [Agent.BulkModified].
	CheckBulk bool
}

// Agent lets a node take part: it steps a [Machine], posts buffers, sends, and
// calls services. It has no goroutine of its own.
//
// Methods are safe for concurrent use, and may be called from callbacks.
type Agent struct {
	table   *portals.Table
	cfg     AgentConfig
	self    nid.NID
	pid     nid.PID
	runner  *machine.Runner[Input, Output]
	m       *Machine // stepped by runner
	log     *slog.Logger
	unwatch func()

	signer   signer
	receiver receiver
	outbox   portals.Outbox[sending]
	due      due

	mu       sync.Mutex
	services map[ServiceID]*Service // guarded by mu
	stopped  bool                   // guarded by mu
	workers  sync.WaitGroup
	open     openAnswers
	ctx      context.Context // of handlers and calls; ends with the agent
	cancel   context.CancelFunc

	posts    sync.Pool // of *post
	payloads sync.Pool // of *[]byte

	bulkModified atomic.Uint64

	warnings [2]time.Duration // when the next may be logged; owned by apply, like all below
	requests map[RequestID]*Request
	lists    map[RequestID]*fetch
}

// ErrNoNID says that a node has no NID to take part as.
var ErrNoNID = errors.New("scoll: say which NID of this node takes part")

// Start begins to take part. The error is ErrNoNID, [portals.ErrNoLoopback] or
// [portals.ErrNoDiscovery] for a node that lacks one of these, or what portals says of
// the buffers.
func Start(table *portals.Table, cfg AgentConfig) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{
		table: table, cfg: cfg, self: cfg.Self, pid: table.Node().PID(), log: cfg.Log,
		services: make(map[ServiceID]*Service), requests: make(map[RequestID]*Request), lists: make(map[RequestID]*fetch),
	}
	if err := a.fill(); err != nil {
		return nil, err
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.signer.init(a.cfg.Keys)
	a.m = New(a.cfg.Config)
	a.due.init(a)
	a.posts.New, a.payloads.New = newPost, func() any { return new([]byte) }
	a.outbox.Open(table, portals.OutboxConfig[sending]{Done: a.sent})
	a.runner = machine.NewRunner(machine.Config[Input, Output]{
		Machine: a.m, Clock: callClock{a.cfg.Clock, a}, Apply: a.apply,
		Fault: func(err error) { a.log.Error("scoll timer", slog.Any("err", err)) },
	})
	if err := a.receiver.start(a); err != nil {
		return nil, fmt.Errorf("scoll: post buffers: %w", err)
	}
	a.do(Input{})
	if cfg.View != nil {
		a.unwatch = cfg.View.Watch(a.heard)
	}
	return a, nil
}

// fill sets what the configuration leaves open.
func (a *Agent) fill() error {
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	for _, id := range a.table.Node().IDs() {
		if a.cfg.Self.IsValid() || id.NID.IsLo() {
			continue
		}
		if a.self.IsValid() {
			return ErrNoNID
		}
		a.self = id.NID
	}
	if !a.self.IsValid() {
		return ErrNoNID
	}
	a.cfg.MaxPayload = min(orDefault(a.cfg.MaxPayload, portals.MaxPayload), portals.MaxPayload)
	a.cfg.Self, a.cfg.Watched, a.cfg.Signed = a.self, a.cfg.View != nil, a.cfg.Keys.Len() > 0
	if a.cfg.Incarnation == 0 {
		a.cfg.Incarnation = a.table.Node().Incarnation()
	}
	if a.cfg.Clock == nil {
		a.cfg.Clock = a.table.Node().Clock()
	}
	if a.cfg.Worker == nil {
		a.cfg.Worker = func(f func()) { a.cfg.Clock.AfterFunc(time.Nanosecond, f) }
	}
	a.cfg.Buffers = orDefault(a.cfg.Buffers, 64)
	return nil
}

// Stop ends taking part. It refuses further questions to handlers (ECANCELED), ends the
// contexts of those that run, and lets their answers leave, for up to a second: members
// below this one may have to answer first. Then no callback is called any more, and it
// waits for those that run, of which it must not be called. What was under way otherwise is
// not answered; a message that had begun may still touch its memory, until the node is
// closed, which comes next.
func (a *Agent) Stop() {
	a.mu.Lock()
	again := a.stopped
	a.stopped = true
	a.mu.Unlock()
	if again {
		return
	}
	a.cancel()
	a.open.wait()
	if a.unwatch != nil {
		a.unwatch()
	}
	a.runner.Close()
	a.due.close()
	a.receiver.close()
	for _, r := range a.requests { // any order: each gives up its own buffers
		r.unlinkAll()
		r.frame.stop()
	}
	for _, f := range a.lists { // any order: likewise
		f.stop()
	}
	a.workers.Wait()
}

// Stats returns the counters of the machine.
func (a *Agent) Stats() (s Stats) {
	a.runner.Inspect(func() { s = a.m.Stats() })
	return s
}

// ask asks discovery itself about nodes that its news have not named yet.
func (a *Agent) ask(ids []nid.NID) {
	if a.cfg.View == nil {
		return
	}
	for _, id := range ids {
		if alive, lifetime := a.cfg.View.Alive(id); alive {
			a.tell(Input{Kind: Health, From: id, Alive: true, Lifetime: lifetime})
		}
	}
}

// BulkModified counts the requests whose bulk data a service modified, with
// AgentConfig.CheckBulk.
func (a *Agent) BulkModified() uint64 { return a.bulkModified.Load() }

// Groups lists the groups that this node knows.
func (a *Agent) Groups() (list []GroupState) {
	a.runner.Inspect(func() { list = a.m.Groups() })
	return list
}

// apply does what a step wants done.
func (a *Agent) apply(out *Output) {
	a.due.applying.Store(true)
	for i := range out.Effects {
		a.effect(&out.Effects[i], out)
	}
	a.due.applying.Store(false)
}

func (a *Agent) effect(e *Effect, out *Output) {
	switch e.Kind {
	case DoSend:
		a.request(e.ID).forward(e, out)
	case DoReply:
		a.request(e.ID).sendUp(e, out)
	case DoRefuse:
		a.refuse(e, out)
	case DoUnpost:
		a.request(e.ID).unpost(e.Child)
	case DoExpose:
		a.request(e.ID).expose(e)
	case DoFetch:
		a.fetch(e, out)
	case DoFetchMore:
		a.request(e.ID).frame.more(int(e.Limit))
	case DoTell:
		a.sendProgress(e, out)
	case DoStop:
		a.stopFetch(e.ID)
	case DoWithdraw:
		a.request(e.ID).withdraw()
	case DoFree:
		delete(a.lists, e.ID)
		if r := a.requests[e.ID]; r != nil {
			delete(a.requests, e.ID)
			r.recycle()
		}
	case CallIncoming:
		a.request(e.ID).incoming(e.Status)
	case WarnAhead:
		a.warnAhead(e)
	case Began, Refused, Created:
		a.ours(e, out)
	default:
		a.callFor(e, out)
	}
}

// request returns the request of an id. Those of the module alone are made
// when there is something to do for them.
func (a *Agent) request(id RequestID) *Request {
	r := a.requests[id]
	if r == nil {
		r = &Request{agent: a, id: id}
		a.requests[id] = r
	}
	return r
}
