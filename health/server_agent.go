package health

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"ulnet/health/engine"
	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// ServerAgent makes a node a server: it steps an [engine.Server], and connects the machine with
// portals, discovery, collectives and the store. It has no goroutine of its own. Methods are
// safe for concurrent use.
type ServerAgent struct {
	cfg       AgentConfig
	m         *engine.Server // stepped by runner
	runner    *machine.Runner[engine.ServerInput, engine.ServerOutput]
	transport transport
	log       *slog.Logger
	unwatch   func()
	past      history
	failing   atomic.Bool // the store's latest write has failed
	closing   sync.Once

	mu      sync.Mutex
	stopped bool                     // guarded by mu, like all below
	orders  map[*evictOrder]struct{} // orders that were not answered yet
	poll    machine.Timer
}

// StartServer makes the node a server, which first recovers the clients in the store. Errors:
// *[Error], errNoNID, ErrOutside, [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] for a node
// without 0@lo or discovery, errors of the store, and the error of posting the buffers.
func StartServer(table *portals.Table, cfg AgentConfig) (*ServerAgent, error) {
	if cfg.View == nil || cfg.Broadcaster == nil || cfg.Store != nil && cfg.Wall == nil {
		return nil, ErrOutside
	}
	if err := table.Ready(); err != nil {
		return nil, err
	}
	if err := cfg.fill(table); err != nil {
		return nil, err
	}
	m, err := engine.NewServer(cfg.Engine())
	if err != nil {
		return nil, err
	}
	a := &ServerAgent{cfg: cfg, m: m, log: cfg.Log, orders: make(map[*evictOrder]struct{})}
	a.runner = machine.NewRunner(machine.Config[engine.ServerInput, engine.ServerOutput]{
		Machine: a.m, Clock: cfg.Clock, Apply: a.apply,
		Fault: func(err error) { a.log.Error("health timer", slog.Any("err", err)) },
	})
	// Set before the first step, which may send messages.
	a.transport = transport{
		table: table, self: cfg.Self, portal: wire.ServerPortal, size: wire.MaxMessage, count: 16, handle: a.arrived,
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

// arrived passes a message to the machine.
func (a *ServerAgent) arrived(e *portals.Event, data []byte) {
	a.runner.Do(engine.ServerInput{
		Kind: engine.Arrived, From: e.Source, Primary: e.Initiator.NID, PeerIncarnation: e.Incarnation,
		At: a.transport.stamp(a.cfg.Clock, e.ReceivedAt), Data: data,
	})
}

// serve passes another server's request to evict clients to the machine, which answers by
// calling reply.
func (a *ServerAgent) serve(root nid.NID, request []byte, reply func([]byte)) {
	a.runner.Do(engine.ServerInput{Kind: engine.EvictArrived, Server: root, Data: request, Token: reply})
}

// heard passes a report of discovery to the machine.
func (a *ServerAgent) heard(id nid.NID, alive bool, lifetime uint64) {
	a.runner.Do(engine.ServerInput{Kind: engine.ServerHealth, Server: id, Alive: alive, Lifetime: lifetime})
	a.quorum()
}

// quorum tells the machine whether there is a quorum. The quorum may change while quorum runs. So quorum
// asks discovery again afterwards, and tells the machine again until nothing has changed.
func (a *ServerAgent) quorum() {
	have, unsure := a.haveQuorum()
	for range maxLooks {
		a.runner.Do(engine.ServerInput{Kind: engine.QuorumIs, Alive: have, Unsure: unsure})
		had, doubted := have, unsure
		if have, unsure = a.haveQuorum(); have == had && unsure == doubted {
			return
		}
	}
}

// haveQuorum reports whether there is a quorum, and whether discovery cannot judge at present.
func (a *ServerAgent) haveQuorum() (have, unsure bool) {
	u, ok := a.cfg.View.(Unsure)
	return a.cfg.View.Quorum(), ok && u.Unsure()
}

// look checks the quorum once per tick, since it can change without a death, and tries again to
// post buffers that could not be posted before.
func (a *ServerAgent) look() {
	a.transport.inbox.Refill()
	a.quorum()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.poll = a.cfg.Clock.AfterFunc(a.cfg.Tick, a.look)
	}
}

// apply carries out the effects of a step.
func (a *ServerAgent) apply(out *engine.ServerOutput) {
	for i := range out.Effects {
		a.effect(&out.Effects[i], out)
	}
}

func (a *ServerAgent) effect(e *engine.ServerEffect, out *engine.ServerOutput) {
	switch e.Kind {
	case engine.DoSend:
		portal := wire.ClientPortal
		if e.Server.IsValid() {
			portal = wire.ServerPortal
		}
		a.transport.send(e.To, portal, out.Data(e))
	case engine.DoSave:
		a.save(e)
	case engine.DoRemove:
		a.remove(e)
	case engine.DoBroadcast:
		id := e.ID
		a.cfg.Broadcaster.Broadcast(slices.Clone(out.Data(e)), func(o Outcome) {
			a.runner.Do(engine.ServerInput{Kind: engine.BroadcastDone, ID: id, Failed: o.Err != nil, Servers: o.Missing, Data: o.Reply})
		})
	case engine.DoAnswer:
		e.Token.(func([]byte))(slices.Clone(out.Data(e)))
	case engine.DoLook:
		in := engine.ServerInput{Kind: engine.Seen, Client: e.Client}
		if at, ok := a.transport.table.LastHeardFrom(e.To, e.Incarnation); ok {
			in.At = a.transport.stamp(a.cfg.Clock, at)
		} else {
			in.Failed = true
		}
		a.runner.Do(in)
	case engine.DoTell:
		a.remember(&e.Event)
		if a.cfg.Notify != nil {
			a.cfg.Notify(e.Event)
		}
	case engine.DoResult:
		a.result(e.Token.(*evictOrder), EvictResult{e.Code, e.Server, e.Incarnation})
	}
}

// Close ends the server's part in client health. It sends nothing to clients, to which the
// server seems dead. Close waits for running functions of the configuration, which therefore
// must not call Close. The error is always nil.
func (a *ServerAgent) Close(context.Context) error {
	a.closing.Do(a.end)
	return nil
}

// end stops the machine and withdraws the buffers.
func (a *ServerAgent) end() {
	a.mu.Lock()
	a.stopped = true
	if a.poll != nil {
		a.poll.Stop()
	}
	a.mu.Unlock()
	a.unwatch()
	a.cfg.Broadcaster.Serve(nil)
	a.runner.Close()
	a.transport.close()
	a.refuseOrders()
}
