package engine

import (
	"slices"

	"ulnet/health/wire"
)

// withdrawals are the evictions of an incarnation that were withdrawn, one for each server that ordered and
// withdrew one. Such a server was the client's master, or considered itself the master. If one server withdraws
// its eviction, the evictions by the others still count.
type withdrawals struct {
	by    []withdrawal
	below uint64 // the earlier incarnation that the client's tombstone refused at the first withdrawal, and that is still refused; 0: there was none
}

// withdrawal is the latest choice of a master for which a server has withdrawn an eviction.
type withdrawal struct {
	server int32
	epoch  uint32 // 24 bits; 0: any choice, as servers of earlier versions say
}

// add records a withdrawal.
func (w *withdrawals) add(server int32, epoch uint32) {
	k := slices.IndexFunc(w.by, func(x withdrawal) bool { return x.server == server })
	switch {
	case k < 0:
		w.by = append(w.by, withdrawal{server, epoch})
	case epoch == 0 || w.by[k].epoch != 0 && chosenLater(epoch, w.by[k].epoch):
		w.by[k].epoch = epoch
	}
}

// of reports whether the server from has withdrawn the eviction e, or whether any server has, if from is unnamed.
func (w *withdrawals) of(e *wire.Entry, from int32) bool {
	return w != nil && slices.ContainsFunc(w.by, func(x withdrawal) bool {
		withdrawn := wire.Entry{Epoch: x.epoch}
		return (x.server == from || from == unnamed) && !withdrawn.Before(e.Epoch)
	})
}

// anyChoice reports whether one of the withdrawals names no choice of a master.
func (w *withdrawals) anyChoice() bool {
	return slices.ContainsFunc(w.by, func(x withdrawal) bool { return x.epoch == 0 })
}

// voided marks the client's tombstone as void. It has no effect if there was no room for a tombstone.
func (t *tombstones) voided(e *wire.Entry, from int32, taken *withdrawals) {
	if g, ok := t.incarnations[e.Client]; ok {
		g.void, g.taken, g.from, g.epoch = true, taken, from, e.Epoch
		t.incarnations[e.Client] = g
	}
}

// takes records that the server from has withdrawn an eviction, and returns all withdrawals of that incarnation.
// If the client has no tombstone of that incarnation, the caller has to keep them.
func (t *tombstones) takes(e *wire.Entry, from int32) *withdrawals {
	g, ok := t.incarnations[e.Client]
	taken := g.taken
	if g.incarnation != e.Incarnation || taken == nil {
		taken = &withdrawals{}
		if below, refuses := t.covers(e.Client, 0); refuses && below < e.Incarnation {
			taken.below = below
		}
	}
	taken.add(from, e.Epoch)
	if ok && g.incarnation == e.Incarnation {
		g.taken = taken
		t.incarnations[e.Client] = g
	}
	return taken
}
