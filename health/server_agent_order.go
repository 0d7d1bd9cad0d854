package health

import (
	"maps"
	"slices"

	"ulnet/health/engine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Drain begins draining if on is true, and ends it if on is false. While this server drains, it asks
// all its clients to choose other masters, and takes no new ones. On the last server that takes
// clients, Drain returns an [*Error] unless force is set, because the clients would find no other
// master and stay. If Drain is called on two servers at once, it may succeed on both. After Close the
// error is [ErrClosed].
func (a *ServerAgent) Drain(on, force bool) (err error) {
	a.runner.Inspect(func() {
		if on && !force {
			err = a.m.MayDrain()
		}
	})
	if err == nil {
		a.runner.Do(engine.ServerInput{Kind: engine.Drain, Alive: on})
	}
	if a.hasStopped() { // Close may have been called before Do, which then did nothing
		return ErrClosed
	}
	return err
}

// hasStopped reports whether Close was called.
func (a *ServerAgent) hasStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// SetKeys replaces the keys that verify connect requests from now on, for instance in a key
// rotation. Connected clients stay connected. The error is [keyring.ErrOnOff] if the change
// would switch the check on or off: from no keys to some, or from some keys to none.
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

// SetServers replaces the list of servers. The View must know the new servers already.
func (a *ServerAgent) SetServers(ids []nid.NID) {
	a.runner.Do(engine.ServerInput{Kind: engine.SetServers, Servers: ids})
	for _, id := range ids { // before this call the machine did not know the new servers, and ignored reports of discovery about them
		a.repeat(id)
	}
	a.quorum()
}

// maxLooks is how often discovery is asked at most whether its answer has changed meanwhile. If it changes each time, a
// later report or look has to bring the last change.
const maxLooks = 10

// repeat tells the machine the present state of a server. The state may change while repeat runs:
// discovery then reports the new state to the machine, and repeat reports the old one after that. So
// repeat asks discovery again afterwards, and tells the machine again until nothing has changed.
func (a *ServerAgent) repeat(id nid.NID) {
	alive, lifetime := a.cfg.View.Alive(id)
	for range maxLooks {
		a.runner.Do(engine.ServerInput{Kind: engine.ServerHealth, Server: id, Alive: alive, Lifetime: lifetime})
		before, deaths := alive, lifetime
		if alive, lifetime = a.cfg.View.Alive(id); alive == before && lifetime == deaths {
			return
		}
	}
}

// evictOrder is an administrator's order to evict a client.
type evictOrder struct{ done func(EvictResult) }

// EvictResult is the result of an order to evict a client.
type EvictResult struct {
	// Code is OK if the eviction has begun. Otherwise it is NotConnected, Busy, OtherMaster,
	// Orphaned (this server was restarted, and the client's master has not confirmed the client
	// yet) or NoQuorum (this server is cut off, and has ended only its own connection of the
	// client).
	Code        Code
	Master      nid.NID // the client's master, which is the server that can evict it
	Incarnation uint64  // incarnation of the client, if the client is connected
}

// Evict orders the eviction of a client from all servers. It calls done once with the result,
// perhaps before Evict returns. On a closed agent the result is NotConnected.
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

// result answers an order, unless Close has answered it already.
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
	open := slices.Collect(maps.Keys(a.orders)) // any order: the orders are independent
	a.mu.Unlock()
	for _, o := range open {
		a.result(o, EvictResult{Code: NotConnected})
	}
}
