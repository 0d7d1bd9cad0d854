package health

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Errors of starting.
var (
	ErrNoNID   error = &Error{Why: "say which NID of this node takes part"}
	ErrOutside error = &Error{Why: "a server needs a View, a Broadcaster, and with a Store a wall clock"}
)

// AgentConfig configures a [ServerAgent].
type AgentConfig struct {
	// ServerConfig: Self may be zero on a node with one NID, Incarnation and PID
	// are the node's by default.
	ServerConfig
	View        View        // required
	Broadcaster Broadcaster // required
	Store       Store       // nil: nothing survives a restart
	// Wall is the wall clock, for tombstones in the Store and the times of History.
	Wall func() time.Time
	// Export returns what is to be remembered of a connection besides; may be nil.
	Export func(id ClientID, incarnation uint64) []byte
	// Recovered is given that after a restart; may be nil.
	Recovered func(r *Record)
	// Notify is told of events, in their order. It must not block. May be nil.
	Notify func(Event)
	Log    *slog.Logger  // nil discards
	Clock  machine.Clock // default the node's; machine.BootClock notices more pauses
	// Buffers is how many messages can arrive at a time without waiting, 29 KiB
	// each. Default 16.
	Buffers int
}

// ServerAgent lets a node be a server: it steps a [Server], and brings it
// together with portals, discovery, collectives and the store. It has no
// goroutine of its own. Methods are safe for concurrent use.
type ServerAgent struct {
	cfg       AgentConfig
	m         *Server // stepped by runner
	runner    *machine.Runner[ServerInput, ServerOutput]
	transport transport
	log       *slog.Logger
	unwatch   func()
	past      history
	failing   atomic.Bool // the store has failed, and saved nothing since

	mu      sync.Mutex
	stopped bool                     // guarded by mu, like all below
	orders  map[*evictOrder]struct{} // not answered yet
	poll    machine.Timer
}

// StartServer begins to watch over clients: first over those that the store
// knows. Errors: *[Error], ErrNoNID, ErrOutside, [portals.ErrNoLoopback] or
// [portals.ErrNoDiscovery] for a node that lacks one of these, what the store says, and
// what portals says of the buffers.
func StartServer(table *portals.Table, cfg AgentConfig) (*ServerAgent, error) {
	if cfg.View == nil || cfg.Broadcaster == nil || cfg.Store != nil && cfg.Wall == nil {
		return nil, ErrOutside
	}
	if err := table.Ready(); err != nil {
		return nil, err
	}
	var err error
	if cfg.Self, err = selfOf(table, cfg.Self); err != nil {
		return nil, err
	}
	if cfg.Timing, err = cfg.Filled(); err != nil {
		return nil, err
	}
	cfg.fill(table)
	a := &ServerAgent{cfg: cfg, log: cfg.Log, orders: make(map[*evictOrder]struct{})}
	if a.m, err = NewServer(cfg.ServerConfig); err != nil {
		return nil, err
	}
	a.runner = machine.NewRunner(machine.Config[ServerInput, ServerOutput]{
		Machine: a.m, Clock: cfg.Clock, Apply: a.apply,
		Fault: func(err error) { a.log.Error("health timer", slog.Any("err", err)) },
	})
	// Before the first step: what it has sent goes this way, also while much is loaded.
	a.transport = transport{
		table: table, self: cfg.Self, portal: ServerPortal, size: MaxMessage, count: cmp.Or(cfg.Buffers, 16), handle: a.arrived,
	}
	a.transport.begin()
	if err := a.load(); err != nil {
		a.runner.Close()
		return nil, err
	}
	if err := a.transport.start(); err != nil {
		a.runner.Close()
		return nil, fmt.Errorf("health: post buffers: %w", err)
	}
	cfg.Broadcaster.Serve(a.serve)
	a.unwatch = cfg.View.Watch(a.heard)
	a.look()
	return a, nil
}

// fill sets what is by default the node's.
func (cfg *AgentConfig) fill(table *portals.Table) {
	if cfg.Incarnation == 0 {
		cfg.Incarnation = table.Node().Incarnation()
	}
	if cfg.PID == 0 {
		cfg.PID = table.Node().PID()
	}
	if cfg.Clock == nil {
		cfg.Clock = table.Node().Clock()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
}

// arrived gives the machine a message.
func (a *ServerAgent) arrived(e *portals.Event, data []byte) {
	a.runner.Do(ServerInput{Kind: Arrived, From: e.Initiator, Life: e.Incarnation, At: a.transport.stamp(a.cfg.Clock, e.ReceivedAt), Data: data})
}

// serve answers an eviction of another server.
func (a *ServerAgent) serve(root nid.NID, request []byte, reply func([]byte)) {
	a.runner.Do(ServerInput{Kind: EvictArrived, Server: root, Data: request, Token: reply})
}

// heard takes news of discovery.
func (a *ServerAgent) heard(id nid.NID, alive bool, lifetime uint64) {
	a.runner.Do(ServerInput{Kind: ServerHealth, Server: id, Alive: alive, Lifetime: lifetime})
	a.quorum()
}

func (a *ServerAgent) quorum() {
	u, ok := a.cfg.View.(Unsure)
	a.runner.Do(ServerInput{Kind: QuorumIs, Alive: a.cfg.View.Quorum(), Unsure: ok && u.Unsure()})
}

// look looks at the quorum once per tick: it can change without a death. Buffers that
// could not be posted are tried again.
func (a *ServerAgent) look() {
	a.transport.inbox.Refill()
	a.quorum()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.poll = a.cfg.Clock.AfterFunc(a.cfg.Tick, a.look)
	}
}

// apply does what a step wants done.
func (a *ServerAgent) apply(out *ServerOutput) {
	for i := range out.Effects {
		a.effect(&out.Effects[i], out)
	}
}

func (a *ServerAgent) effect(e *ServerEffect, out *ServerOutput) {
	switch e.Kind {
	case DoSend:
		portal := ClientPortal
		if e.Server.IsValid() {
			portal = ServerPortal
		}
		a.transport.send(e.To, portal, out.Data(e))
	case DoSave:
		a.save(e)
	case DoRemove:
		a.remove(e)
	case DoBroadcast:
		id := e.ID
		a.cfg.Broadcaster.Broadcast(slices.Clone(out.Data(e)), func(o Outcome) {
			a.runner.Do(ServerInput{Kind: BroadcastDone, ID: id, Failed: o.Err != nil, Servers: o.Missing, Data: o.Reply})
		})
	case DoAnswer:
		e.Token.(func([]byte))(slices.Clone(out.Data(e)))
	case DoLook:
		if at, ok := a.transport.table.LastHeardFrom(e.To, e.Incarnation); ok {
			a.runner.Do(ServerInput{Kind: Seen, Client: e.Client, At: a.transport.stamp(a.cfg.Clock, at)})
		}
	case DoTell:
		a.remember(&e.Event)
		if a.cfg.Notify != nil {
			a.cfg.Notify(e.Event)
		}
	case DoResult:
		a.result(e.Token.(*evictOrder), EvictResult{e.Code, e.Server, e.Incarnation})
	}
}

// Shed asks some clients to choose another master, to even out the load.
func (a *ServerAgent) Shed(count int) {
	if count > 0 {
		a.runner.Do(ServerInput{Kind: Drain, Count: count})
	}
}

// SetServers replaces the list of servers, which the View knows already.
func (a *ServerAgent) SetServers(ids []nid.NID) {
	a.runner.Do(ServerInput{Kind: SetServers, Servers: ids})
	for _, id := range ids { // discovery spoke of new ones when they were none of ours
		alive, lifetime := a.cfg.View.Alive(id)
		a.runner.Do(ServerInput{Kind: ServerHealth, Server: id, Alive: alive, Lifetime: lifetime})
	}
	a.quorum()
}

// Clients lists the clients by their ids.
func (a *ServerAgent) Clients() (list []ClientInfo) {
	a.runner.Inspect(func() { list = a.m.Clients() })
	return list
}

// List lists the first clients that match, by their ids, at most limit of them, and
// counts all that do. Nothing else happens meanwhile: match is quick, and does not
// call the agent.
func (a *ServerAgent) List(limit int, match func(*ClientInfo) bool) (list []ClientInfo, matching int) {
	a.runner.Inspect(func() { list, matching = a.m.List(limit, match) })
	return list, matching
}

// Masters returns how many clients each server is the master of.
func (a *ServerAgent) Masters() (of map[nid.NID]int) {
	a.runner.Inspect(func() { of = a.m.Masters() })
	return of
}

// Client tells about one client; false if it is not connected.
func (a *ServerAgent) Client(id ClientID) (info ClientInfo, ok bool) {
	a.runner.Inspect(func() { info, ok = a.m.Client(id) })
	return info, ok
}

// Status returns the state.
func (a *ServerAgent) Status() (s ServerStatus) {
	a.runner.Inspect(func() { s = a.m.Status() })
	return s
}

// Quorum reports whether this server has a quorum, which is quicker than Status.
func (a *ServerAgent) Quorum() (have bool) {
	a.runner.Inspect(func() { have = a.m.Quorum() })
	return have
}

// Stats returns the counters.
func (a *ServerAgent) Stats() (s ServerStats) {
	a.runner.Inspect(func() { s = a.m.Stats() })
	return s
}

// Stop ends watching. Clients are not told: this server is as dead to them.
func (a *ServerAgent) Stop() {
	a.mu.Lock()
	again := a.stopped
	a.stopped = true
	if a.poll != nil {
		a.poll.Stop()
	}
	a.mu.Unlock()
	if again {
		return
	}
	a.unwatch()
	a.cfg.Broadcaster.Serve(nil)
	a.runner.Close()
	a.transport.close()
	a.refuseOrders()
}
