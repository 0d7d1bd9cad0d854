package engine

import "ulnet/health/wire"

// A client that does not hear its masters chooses one after the other, and each that has agreed takes itself for
// the master. If they evict the client at the same time, as an administrator orders, each names itself in its
// answers to the others. The client must not stay at one of them as a client of another, which evicts it.

// rival is another server that evicts a client which this server evicts. Of several it is the master of the
// client's latest choice.
type rival struct {
	server int32
	epoch  uint32 // epoch of that choice, 24 bits; 0: not known
}

// alsoEvicts records that another server evicts a client, too.
func (e *evictions) alsoEvicts(x *wire.Entry, from int32) {
	if old, ok := e.rivals[x.Client]; ok && x.Before(old.epoch) {
		return
	}
	if e.rivals == nil {
		e.rivals = make(map[wire.ClientID]rival)
	}
	e.rivals[x.Client] = rival{from, x.Epoch}
}

// evictedBy reports whether a client that this server evicts is also evicted by the given server, as the master of the
// client's latest choice.
func (e *evictions) evictedBy(master int32, id wire.ClientID) bool {
	r, ok := e.rivals[id]
	return ok && r.server == master
}
