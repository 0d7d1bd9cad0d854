package engine

import (
	"slices"

	"ulnet/health/wire"
)

// A server keeps a tombstone for each incarnation of a client of which it knows an eviction, or only the withdrawal of
// one. Whether the eviction of one incarnation counts does not depend on those of the others: any node can connect with
// the client's id, in a later incarnation, to servers that do not know the client, and then be evicted there.

// maxEvicted is for how many incarnations of a client a server keeps a tombstone.
const maxEvicted = 3

// list returns a copy of the client's tombstones. That of the latest incarnation is the first.
func (t *tombstones) list(id wire.ClientID) []tombstone {
	g, ok := t.incarnations[id]
	if !ok {
		return nil
	}
	return append([]tombstone{g}, g.taken.before()...)
}

// of returns the client's tombstone of exactly the given incarnation.
func (t *tombstones) of(id wire.ClientID, incarnation uint64) (g tombstone, ok bool) {
	g, ok = t.incarnations[id]
	if !ok || g.incarnation == incarnation {
		return g, ok
	}
	for _, b := range g.taken.before() {
		if b.incarnation == incarnation {
			return b, true
		}
	}
	return tombstone{}, false
}

// refusing returns the client's tombstone of the latest incarnation that is refused.
func (t *tombstones) refusing(id wire.ClientID) (g tombstone, ok bool) {
	g, ok = t.incarnations[id]
	if !ok || !g.void {
		return g, ok
	}
	for _, b := range g.taken.before() {
		if !b.void {
			return b, true
		}
	}
	return tombstone{}, false
}

// set replaces the client's tombstone of the same incarnation, if there is one. The field taken of g must have the
// tombstones of earlier incarnations that the replaced one has.
func (t *tombstones) set(id wire.ClientID, g tombstone) {
	latest, ok := t.incarnations[id]
	switch {
	case ok && latest.incarnation == g.incarnation:
		t.put(id, g)
	case ok:
		for k, b := range latest.taken.before() {
			if b.incarnation == g.incarnation {
				latest.taken.earlier[k] = g
			}
		}
	}
}

// insert adds the tombstone of an incarnation that has none. If the client then has more than maxEvicted tombstones,
// insert removes one. If that one refuses its incarnation, the next later one lasts as long, so that the incarnation
// is still refused. The queue has an entry for that time, the one of the removed tombstone.
func (t *tombstones) insert(id wire.ClientID, g tombstone) {
	list := t.list(id)
	k := slices.IndexFunc(list, func(b tombstone) bool { return b.incarnation < g.incarnation })
	if k < 0 {
		k = len(list)
	}
	list = slices.Insert(list, k, g)
	for len(list) > maxEvicted {
		k := spare(list)
		if !list[k].void {
			list[k-1].until = max(list[k-1].until, list[k].until)
		}
		list = slices.Delete(list, k, k+1)
	}
	t.keep(id, list)
}

// spare returns the index of the tombstone that is removed first to make room, in a list that has the latest one first.
// It is the earliest that refuses nothing. If all refuse their incarnations, it is the earliest one of an incarnation that
// has left, except the latest tombstone, or else the earliest one.
func spare(list []tombstone) int {
	k := len(list) - 1
	for i, b := range list {
		if b.onlyLeft() && i > 0 {
			k = i
		}
	}
	for i, b := range list {
		if b.void {
			k = i
		}
	}
	return k
}

// keep replaces all tombstones of the client by those in list, the latest first.
func (t *tombstones) keep(id wire.ClientID, list []tombstone) {
	if len(list) == 0 {
		t.remove(id)
		return
	}
	for k := range list {
		list[k].taken = list[k].taken.alone()
	}
	latest := list[0]
	if len(list) > 1 {
		if latest.taken == nil {
			latest.taken = &withdrawals{}
		}
		latest.taken.earlier = list[1:]
	}
	t.put(id, latest)
}
