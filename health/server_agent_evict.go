package health

import (
	"maps"
	"slices"

	"ulnet/lnet/nid"
)

// evictOrder is an eviction that an administrator wants.
type evictOrder struct{ done func(Code, nid.NID) }

// Evict evicts a client from all servers. done is told, perhaps before Evict
// returns, OK if the eviction has begun, and otherwise why not: NotConnected,
// Busy, Orphaned (it was recovered, and its master has not confirmed it yet), or
// OtherMaster and which one, where it can be done. NoQuorum: this server is cut off,
// and has ended the connection here only. A stopped agent has no clients: NotConnected.
func (a *ServerAgent) Evict(id ClientID, done func(code Code, master nid.NID)) {
	o := &evictOrder{done}
	a.mu.Lock()
	stopped := a.stopped
	if !stopped {
		a.orders[o] = struct{}{}
	}
	a.mu.Unlock()
	if stopped {
		done(NotConnected, nid.NID{})
		return
	}
	a.runner.Do(ServerInput{Kind: EvictClient, Client: id, Token: o})
}

// result answers an order, unless Stop did.
func (a *ServerAgent) result(o *evictOrder, code Code, master nid.NID) {
	a.mu.Lock()
	_, open := a.orders[o]
	delete(a.orders, o)
	a.mu.Unlock()
	if open {
		o.done(code, master)
	}
}

// refuseOrders answers what a stopped machine was not stepped with any more.
func (a *ServerAgent) refuseOrders() {
	a.mu.Lock()
	open := slices.Collect(maps.Keys(a.orders)) // any order: each has its own answer
	a.mu.Unlock()
	for _, o := range open {
		a.result(o, NotConnected, nid.NID{})
	}
}
