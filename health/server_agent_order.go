package health

import (
	"maps"
	"slices"

	"ulnet/health/engine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Drain makes all clients choose other masters, and refuses to become a master, until it is
// called with on false. The last server that takes clients returns an [*Error] unless force is
// set: its clients would keep it as their master anyway. Two servers that are asked at the same
// time may both agree.
func (a *ServerAgent) Drain(on, force bool) (err error) {
	a.runner.Inspect(func() {
		if on && !force {
			err = a.m.MayDrain()
		}
	})
	if err == nil {
		a.runner.Do(engine.ServerInput{Kind: engine.Drain, Alive: on})
	}
	return err
}

// SetKeys changes the keys that verify connects from now on, as in a key rotation. Connected
// clients stay. The error is [keyring.ErrOnOff] if there are no keys now, or none in keys.
func (a *ServerAgent) SetKeys(keys keyring.Keys) (err error) {
	a.runner.Inspect(func() { err = a.m.SetKeys(keys) })
	return err
}

// Shed asks count clients to choose another master, to even out the load.
func (a *ServerAgent) Shed(count int) {
	if count > 0 {
		a.runner.Do(engine.ServerInput{Kind: engine.Drain, Count: count})
	}
}

// SetServers replaces the list of servers, which the View knows already.
func (a *ServerAgent) SetServers(ids []nid.NID) {
	a.runner.Do(engine.ServerInput{Kind: engine.SetServers, Servers: ids})
	for _, id := range ids { // discovery may have reported new ones before they were servers
		alive, lifetime := a.cfg.View.Alive(id)
		a.runner.Do(engine.ServerInput{Kind: engine.ServerHealth, Server: id, Alive: alive, Lifetime: lifetime})
	}
	a.quorum()
}

// evictOrder is an administrator's order to evict a client.
type evictOrder struct{ done func(EvictResult) }

// EvictResult is the result of an order to evict a client.
type EvictResult struct {
	// Code is OK if the eviction has begun. Otherwise it is NotConnected, Busy, Orphaned (the
	// client was recovered, and its master has not confirmed it yet) or OtherMaster. NoQuorum
	// means that this server is cut off, and has ended only its own connection.
	Code        Code
	Master      nid.NID // of the client: the server that can evict it
	Incarnation uint64  // of the client, if it is connected
}

// Evict orders the eviction of a client from all servers. It calls done once with the result,
// perhaps before Evict returns. A closed agent has no clients: NotConnected.
func (a *ServerAgent) Evict(id ClientID, done func(EvictResult)) {
	o := &evictOrder{done}
	a.mu.Lock()
	stopped := a.stopped
	if !stopped {
		a.orders[o] = struct{}{}
	}
	a.mu.Unlock()
	if stopped {
		done(EvictResult{Code: NotConnected})
		return
	}
	a.runner.Do(engine.ServerInput{Kind: engine.EvictClient, Client: id, Token: o})
}

// result answers an order, unless Close did.
func (a *ServerAgent) result(o *evictOrder, r EvictResult) {
	a.mu.Lock()
	_, open := a.orders[o]
	delete(a.orders, o)
	a.mu.Unlock()
	if open {
		o.done(r)
	}
}

// refuseOrders answers the orders that the machine did not handle before it was stopped.
func (a *ServerAgent) refuseOrders() {
	a.mu.Lock()
	open := slices.Collect(maps.Keys(a.orders)) // any order: each has its own answer
	a.mu.Unlock()
	for _, o := range open {
		a.result(o, EvictResult{Code: NotConnected})
	}
}
