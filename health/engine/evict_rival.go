package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
)

// A client that hears no answers of its masters chooses one after the other, and each server that has agreed considers
// itself the master. If they evict the client at the same time, as by order of an administrator, each names itself as
// the client's master in its answers to the others. None of them may then keep the client as one of another that is
// evicting it.

// rival is another server that evicts a client of which this server considers itself the master. At most one
// eviction of each server is kept.
type rival struct {
	server int32
	epoch  uint32        // epoch of the choice for which the server evicts the client, 24 bits; 0: not known
	until  time.Duration // active time at which the server's tombstone expires: until then the client cannot be connected there
}

// alsoEvicts records that another server evicts a client of which this server considers itself the master. The caller
// also records an eviction that arrives before this server begins its own, unless it names no choice of a master:
// nothing would show whether it still matters when this server evicts the client.
func (e *evictions) alsoEvicts(x *wire.Entry, from int32, until time.Duration) {
	list := e.rivals[x.Client]
	k := slices.IndexFunc(list, func(r rival) bool { return r.server == from })
	switch {
	case k < 0:
		if e.rivals == nil {
			e.rivals = make(map[wire.ClientID][]rival)
		}
		e.rivals[x.Client] = append(list, rival{from, x.Epoch, until})
	case !chosenLater(list[k].epoch, x.Epoch):
		list[k].epoch, list[k].until = x.Epoch, until
	}
}

// evictsNoMore records that another server has withdrawn its eviction of a client.
func (e *evictions) evictsNoMore(x *wire.Entry, from int32) {
	list, ok := e.rivals[x.Client]
	if !ok {
		return
	}
	list = slices.DeleteFunc(list, func(r rival) bool { return r.server == from && !x.Before(r.epoch) })
	if e.rivals[x.Client] = list; len(list) == 0 {
		delete(e.rivals, x.Client)
	}
}

// evictedBy reports whether the given server has evicted a client for the choice with the given epoch, or for a
// later one, and its tombstone has not expired at the active time now.
func (e *evictions) evictedBy(master int32, id wire.ClientID, epoch uint32, now time.Duration) bool {
	return slices.ContainsFunc(e.rivals[id], func(r rival) bool {
		x := wire.Entry{Epoch: r.epoch}
		return r.server == master && now < r.until && !x.Before(epoch)
	})
}

// chosenLater reports whether the choice with the first epoch is later than the other one. Both have 24 bits, and
// are 0 if the choice is not known: any choice that is known counts as later than that.
func chosenLater(epoch, other uint32) bool {
	x := wire.Entry{Epoch: other}
	return epoch != 0 && (other == 0 || x.Before(epoch))
}
