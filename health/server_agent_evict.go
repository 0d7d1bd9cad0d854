package health

import (
	"maps"
	"slices"

	"ulnet/lnet/nid"
)

// evictOrder is an eviction that an administrator wants.
type evictOrder struct{ done func(EvictResult) }

// EvictResult is what came of an order to evict a client.
type EvictResult struct {
	// Code is OK if the eviction has begun, and otherwise says why not: NotConnected,
	// Busy, Orphaned (the client was recovered, and its master has not confirmed it yet),
	// or OtherMaster. NoQuorum: this server is cut off, and has ended the connection here
	// only.
	Code        Code
	Master      nid.NID // of the client, which is where it can be evicted
	Incarnation uint64  // of the client, if it is connected
}

// Evict evicts a client from all servers. done is told what came of the order, perhaps
// before Evict returns. A stopped agent has no clients: NotConnected.
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
	a.runner.Do(ServerInput{Kind: EvictClient, Client: id, Token: o})
}

// result answers an order, unless Stop did.
func (a *ServerAgent) result(o *evictOrder, r EvictResult) {
	a.mu.Lock()
	_, open := a.orders[o]
	delete(a.orders, o)
	a.mu.Unlock()
	if open {
		o.done(r)
	}
}

// refuseOrders answers what a stopped machine was not stepped with any more.
func (a *ServerAgent) refuseOrders() {
	a.mu.Lock()
	open := slices.Collect(maps.Keys(a.orders)) // any order: each has its own answer
	a.mu.Unlock()
	for _, o := range open {
		a.result(o, EvictResult{Code: NotConnected})
	}
}
