package engine

import (
	"slices"

	"ulnet/health/wire"
)

// withdrawals are the evictions of an incarnation that were withdrawn, and the servers that ordered and
// withdrew them. Such a server was the client's master, or considered itself the master. If one server withdraws
// its eviction, the evictions by the others still count.
type withdrawals struct {
	by      []withdrawal
	earlier []tombstone // tombstones of earlier incarnations, the latest first; only the tombstone of the client's latest incarnation has them
}

// withdrawal is a choice of a master for which a server has withdrawn an eviction, and thereby its evictions for
// earlier choices.
type withdrawal struct {
	server int32
	epoch  uint32 // 24 bits; 0: any choice, as servers of earlier versions say
}

// maxWithdrawn is how many withdrawals by one server are recorded for an incarnation.
const maxWithdrawn = 4

// add records a withdrawal. Of those by one server it keeps the ones for the latest choices.
func (w *withdrawals) add(server int32, epoch uint32) {
	switch {
	case slices.Contains(w.by, withdrawal{server, epoch}), slices.Contains(w.by, withdrawal{server, 0}):
		return
	case epoch == 0:
		w.by = slices.DeleteFunc(w.by, func(x withdrawal) bool { return x.server == server })
	}
	w.by = append(w.by, withdrawal{server, epoch})
	earliest, count := -1, 0
	for k, x := range w.by {
		if x.server != server {
			continue
		}
		if count++; earliest < 0 || chosenLater(w.by[earliest].epoch, x.epoch) {
			earliest = k
		}
	}
	if count > maxWithdrawn {
		w.by = slices.Delete(w.by, earliest, earliest+1)
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

// has reports whether this withdrawal by the server, or one for a later choice, is known already.
func (w *withdrawals) has(server int32, epoch uint32) bool {
	return w != nil && slices.ContainsFunc(w.by, func(x withdrawal) bool {
		return x.server == server && (x.epoch == 0 || x.epoch == epoch || epoch != 0 && chosenLater(x.epoch, epoch))
	})
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
