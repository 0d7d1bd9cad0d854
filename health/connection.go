package health

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"ulnet/health/engine"
	"ulnet/health/wire"
	"ulnet/lnet/latency"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// Connection makes a node a client of the cluster: it steps an [engine.Client], which finds a
// master and keeps it. It has no goroutine of its own. Methods are safe for concurrent use. A
// node can have one Connection, which receives at ClientPortal.
type Connection struct {
	cfg       DialConfig     // only cfg.Attach changes; it is guarded by mu
	m         *engine.Client // stepped by runner
	runner    *machine.Runner[engine.ClientInput, engine.ClientOutput]
	transport transport
	log       *slog.Logger
	pings     latency.Histogram
	watches   map[nid.NID]func() // functions that end the watch of the connection to each server; owned by apply

	mu         sync.Mutex
	ready      chan struct{} // closed while Wait need not block: there is a master, or superseded is set; guarded by mu
	master     nid.NID       // the present master; zero: there is none; guarded by mu
	left       chan struct{} // closed when all servers know that this client is leaving, or T_evict has passed
	leftOnce   sync.Once
	superseded bool          // a later incarnation runs elsewhere; guarded by mu
	closed     chan struct{} // closed by Leave and Close
	once       sync.Once     // makes sure that closed is closed only once
	ended      chan struct{} // closed when Close has ended the connection
	closing    sync.Once     // runs the method end, which closes ended, only once
}

// Dial makes the node a client. It returns before there is a master, see [Connection.Wait].
// Errors: *[Error], errNoNID, [wire.ErrName], [portals.ErrNoLoopback] or
// [portals.ErrNoDiscovery] for a node without 0@lo or discovery, and the error of posting the
// buffers.
func Dial(table *portals.Table, cfg DialConfig) (*Connection, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	if err := cfg.fill(table); err != nil {
		return nil, err
	}
	own := cfg.Engine()
	own.From = nid.ProcessID{NID: cfg.Self, PID: table.Node().PID()}
	m, err := engine.NewClient(own)
	if err != nil {
		return nil, err
	}
	c := &Connection{
		cfg: cfg, m: m, log: cfg.Log, watches: make(map[nid.NID]func()), ready: make(chan struct{}), closed: make(chan struct{}),
		left: make(chan struct{}), ended: make(chan struct{}),
	}
	c.runner = machine.NewRunner(machine.Config[engine.ClientInput, engine.ClientOutput]{
		Machine: c.m, Clock: cfg.Clock, Apply: c.apply,
		Fault: func(err error) { c.log.Error("health timer", slog.Any("err", err)) },
	})
	c.transport = transport{
		table: table, self: cfg.Self, portal: wire.ClientPortal, size: wire.HeaderSize + wire.MaxName + wire.TokenSize, count: 4, handle: c.arrived,
	}
	c.transport.begin()
	if err := c.transport.start(); err != nil {
		c.runner.Close()
		return nil, fmt.Errorf("health: post buffers: %w", err)
	}
	c.runner.Do(engine.ClientInput{Kind: engine.ClientStart})
	return c, nil
}

// arrived passes a message to the machine.
func (c *Connection) arrived(e *portals.Event, data []byte) {
	c.runner.Do(engine.ClientInput{
		Kind: engine.ClientArrived, From: e.Source, Primary: e.Initiator.NID, PeerIncarnation: e.Incarnation,
		At: c.transport.stamp(c.cfg.Clock, e.ReceivedAt), Data: data,
	})
}

// apply carries out the effects of a step.
func (c *Connection) apply(out *engine.ClientOutput) {
	c.transport.inbox.Refill()
	if out.PingTime > 0 {
		c.pings.Record(out.PingTime)
	}
	for i := range out.Effects {
		e := &out.Effects[i]
		switch e.Kind {
		case engine.SendTo:
			c.transport.send(e.To, wire.ServerPortal, out.Data(e))
		case engine.LookAt:
			in := engine.ClientInput{Kind: engine.Traffic, Server: e.To.NID}
			if at, ok := c.transport.table.LastSent(e.To); ok {
				in.Sent = c.transport.stamp(c.cfg.Clock, at)
			}
			if at, ok := c.transport.table.LastHeardFrom(e.To, e.PeerIncarnation); ok {
				in.Heard = c.transport.stamp(c.cfg.Clock, at)
			}
			c.runner.Do(in)
		case engine.Tell:
			c.told(e.Event)
		case engine.AllTold:
			c.leftOnce.Do(func() { close(c.left) })
		case engine.Lonely:
			logLonely(c.log, out.Answers)
		}
	}
}

// told applies an event to this Connection, and reports it to the program.
func (c *Connection) told(e ClientEvent) {
	switch e.Kind {
	case MasterChosen:
		c.setMaster(e.Server)
		c.mu.Lock()
		attach := c.cfg.Attach
		c.mu.Unlock()
		for _, id := range attach {
			if id != e.Server {
				c.runner.Do(engine.ClientInput{Kind: engine.Attach, Server: id})
			}
		}
	case MasterLost:
		c.setMaster(nid.NID{})
	case Attached:
		c.watch(e.Server)
	case Dropped:
		c.unwatch(e.Server)
	case Refused:
		logRefused(c.log, &e)
	case Evicted, Superseded:
		c.setMaster(nid.NID{})
		for _, id := range slices.Collect(maps.Keys(c.watches)) { // any order: every watch ends
			c.unwatch(id)
		}
		if e.Kind == Superseded {
			c.setSuperseded(e)
		}
	}
	if c.cfg.Notify != nil {
		c.cfg.Notify(e)
	}
}

func (c *Connection) setMaster(id nid.NID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case id.IsValid() && c.superseded: // a superseded client has no master, and the channel ready is closed already
		c.superseded = false
	case id.IsValid() && !c.master.IsValid():
		close(c.ready)
	case !id.IsValid() && c.master.IsValid():
		c.ready = make(chan struct{})
	}
	c.master = id
}

// setSuperseded makes Wait return ErrSuperseded.
func (c *Connection) setSuperseded(e ClientEvent) {
	logSuperseded(c.log, &e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.superseded && !c.master.IsValid() {
		c.superseded = true
		close(c.ready)
	}
}

// watch watches the transport connections to a server. When the last one ends, the server may
// have restarted, so the machine asks whether it still knows this client.
func (c *Connection) watch(id nid.NID) {
	if c.watches[id] != nil {
		return
	}
	c.watches[id] = c.transport.table.WatchPeer(nid.ProcessID{NID: id, PID: c.cfg.PID}, func(change portals.PeerChange) {
		if !change.Up && !change.Known {
			c.runner.Do(engine.ClientInput{Kind: engine.Doubt, Server: id})
		}
	})
}

func (c *Connection) unwatch(id nid.NID) {
	if stop := c.watches[id]; stop != nil {
		delete(c.watches, id)
		stop()
	}
}

// Wait waits until the client has a master, and returns it. Errors: ErrClosed, ErrSuperseded,
// and the error of ctx together with the latest answers of servers.
func (c *Connection) Wait(ctx context.Context) (master nid.NID, err error) {
	for {
		c.mu.Lock()
		ready, master, superseded := c.ready, c.master, c.superseded
		c.mu.Unlock()
		switch {
		case c.hasLeft(): // a step that began before Leave can report a master after Leave
			return nid.NID{}, ErrClosed
		case master.IsValid():
			return master, nil
		case superseded:
			return nid.NID{}, ErrSuperseded
		}
		select {
		case <-ready:
		case <-c.closed:
			return nid.NID{}, ErrClosed
		case <-ctx.Done():
			return nid.NID{}, c.noMaster(ctx.Err())
		}
	}
}

// noMaster adds the latest answers of servers to an error.
func (c *Connection) noMaster(err error) error {
	answers := c.Status().Answers
	if len(answers) == 0 {
		return err
	}
	return fmt.Errorf("health: no server is the master of this client yet: %s: %w", answersText(answers), err)
}

// SetServers replaces the list of all servers, and the list of servers to which the client
// connects in addition to its master.
func (c *Connection) SetServers(ids, attach []nid.NID) {
	c.mu.Lock()
	c.cfg.Attach = attach
	master := c.master
	c.mu.Unlock()
	c.runner.Do(engine.ClientInput{Kind: engine.ClientServers, Servers: ids})
	for _, id := range attach {
		if master.IsValid() && id != master {
			c.runner.Do(engine.ClientInput{Kind: engine.Attach, Server: id})
		}
	}
}

// Attach connects to a server in addition to the master. If the client is already connected to
// that server, nothing happens. Otherwise Notify is called with Attached or Refused; Refused
// with NotConnected means that the client has no master now (CH-58).
func (c *Connection) Attach(id nid.NID) {
	c.runner.Do(engine.ClientInput{Kind: engine.Attach, Server: id})
}

// Detach disconnects from a server that is not the master.
func (c *Connection) Detach(id nid.NID) {
	c.runner.Do(engine.ClientInput{Kind: engine.Detach, Server: id})
}

// Doubt makes the client ask a server whether the client is still connected there. A program
// calls it, for instance, after the server has refused a request. If the server has forgotten
// the client, the client connects again.
func (c *Connection) Doubt(id nid.NID) {
	c.runner.Do(engine.ClientInput{Kind: engine.Doubt, Server: id})
}

// Status returns the state.
func (c *Connection) Status() (s ClientStatus) {
	c.runner.Inspect(func() { s = c.m.Status() })
	return s
}

// Stats returns the counters.
func (c *Connection) Stats() (s ClientStats) {
	c.runner.Inspect(func() { s = c.m.Stats() })
	return s
}

// PingLatency returns how long the masters of this client took to answer its pings. Each time is
// measured from the first ping that the master had not answered, without pauses of this process. All
// answers are counted. A client that exchanges other messages with its master sends few pings.
func (c *Connection) PingLatency() latency.Snapshot { return c.pings.Snapshot() }

// SetKeys replaces the keys that sign connects from now on. The error is [keyring.ErrOnOff] if
// the change would switch signing on or off: from no keys to some, or from some keys to none.
func (c *Connection) SetKeys(keys keyring.Keys) (err error) {
	c.runner.Inspect(func() { err = c.m.SetKeys(keys) })
	return err
}
