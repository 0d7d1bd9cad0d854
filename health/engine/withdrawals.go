package engine

import (
	"slices"

	"ulnet/health/wire"
)

// withdrawals are the evictions of an incarnation that were withdrawn, one for each server that ordered and
// withdrew one. Such a server was the client's master, or considered itself the master. If one server withdraws
// its eviction, the evictions by the others still count.
type withdrawals struct {
	by      []withdrawal
	earlier []tombstone // tombstones of earlier incarnations, the latest first; only the tombstone of the client's latest incarnation has them
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

// anyChoice reports whether one of the withdrawals is for any choice of a master, that is, has the epoch 0.
func (w *withdrawals) anyChoice() bool { return w.names(0) }

// exactly reports whether one of the withdrawals has the given epoch of a choice of a master, or is for any choice.
func (w *withdrawals) exactly(epoch uint32) bool { return w.names(epoch) || w.names(0) }

// names reports whether one of the withdrawals has the given epoch.
func (w *withdrawals) names(epoch uint32) bool {
	return slices.ContainsFunc(w.by, func(x withdrawal) bool { return x.epoch == epoch })
}

// has reports whether this withdrawal is known already.
func (w *withdrawals) has(server int32, epoch uint32) bool {
	return w != nil && slices.Contains(w.by, withdrawal{server, epoch})
}

// any reports whether an eviction was withdrawn.
func (w *withdrawals) any() bool { return w != nil && len(w.by) > 0 }

// before returns the tombstones of earlier incarnations.
func (w *withdrawals) before() []tombstone {
	if w == nil {
		return nil
	}
	return w.earlier
}

// alone returns the withdrawals without the tombstones of earlier incarnations; nil: there are none.
func (w *withdrawals) alone() *withdrawals {
	if !w.any() {
		return nil
	}
	return &withdrawals{by: w.by}
}

// voided marks the client's tombstone as void. It has no effect if there was no room for a tombstone.
func (t *tombstones) voided(e *wire.Entry, from int32) {
	if g, ok := t.of(e.Client, e.Incarnation); ok {
		g.void, g.from, g.epoch, g.noChoice = true, from, e.Epoch, 0
		t.set(e.Client, g)
	}
}

// takes records in the tombstone of the incarnation that the server from has withdrawn an eviction.
func (t *tombstones) takes(e *wire.Entry, from int32) {
	g, ok := t.of(e.Client, e.Incarnation)
	if !ok {
		return
	}
	if g.taken == nil {
		g.taken = &withdrawals{}
	}
	g.taken.add(from, e.Epoch)
	t.set(e.Client, g)
}
