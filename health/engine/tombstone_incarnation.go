package engine

import (
	"slices"

	"ulnet/health/wire"
)

// A server keeps a tombstone for each incarnation of a client of which it knows an eviction, or only the withdrawal of
// one. Whether the eviction of one incarnation counts does not depend on those of the others: any node can connect with
// the client's id, in a later incarnation, to servers that do not know the client, and then be evicted there.

// A server keeps at most maxEvicted tombstones of a client that refuse their incarnations, and at most maxVoid void ones.
const (
	maxEvicted = 3
	maxVoid    = 2
)

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

// insert adds a tombstone, or replaces that of the same incarnation. The parameter connected is the incarnation in which
// the client is connected here, or 0.
func (t *tombstones) insert(id wire.ClientID, g tombstone, connected uint64) {
	list := slices.DeleteFunc(t.list(id), func(b tombstone) bool { return b.incarnation == g.incarnation })
	k := slices.IndexFunc(list, func(b tombstone) bool { return b.incarnation < g.incarnation })
	if k < 0 {
		k = len(list)
	}
	t.keep(id, trim(slices.Insert(list, k, g), connected))
}

// trim removes the tombstones for which there is no room from a list that has the latest one first. Void ones and those
// that refuse their incarnations do not displace each other: a server needs the former to recognize late copies of
// evictions, also of the incarnation that is connected. If a removed one refuses its incarnation, the next later one that
// refuses lasts as long, so that the incarnation is still refused. The queue has an entry for that time, the one of the
// removed tombstone.
func trim(list []tombstone, connected uint64) []tombstone {
	for len(list) > maxVoid {
		var refusing, void []int
		for i, b := range list {
			if b.void {
				void = append(void, i)
			} else {
				refusing = append(refusing, i)
			}
		}
		switch {
		case len(void) > maxVoid:
			k := spareVoid(list, void, connected)
			list = slices.Delete(list, k, k+1)
		case len(refusing) > maxEvicted:
			k := spare(list, refusing)
			later := &list[refusing[k-1]]
			later.until = max(later.until, list[refusing[k]].until)
			list = slices.Delete(list, refusing[k], refusing[k]+1)
		default:
			return list
		}
	}
	return list
}

// spare returns which of the tombstones that refuse their incarnations is removed first to make room; the parameter refusing
// has their indexes in the list, the latest first. It is never the latest tombstone. It is the earliest one of an incarnation
// that has left, or else the one that expires first: of these evictions, that one is the least likely to be withdrawn yet.
func spare(list []tombstone, refusing []int) int {
	spare := 1
	for k, i := range refusing {
		old := list[refusing[spare]]
		if k > 0 && (list[i].onlyLeft() || !old.onlyLeft() && list[i].until <= old.until) {
			spare = k
		}
	}
	return spare
}

// spareVoid returns the index in the list of the void tombstone that is removed first to make room; the parameter void has
// the indexes of all void ones, the latest first. It is the earliest one, but never that of the connected incarnation. One of
// an eviction that ended a connection here goes only if there is no other: a node that connects elsewhere with the client's
// id, and is evicted there, would displace it.
func spareVoid(list []tombstone, void []int, connected uint64) int {
	spare := -1
	for _, i := range void {
		if list[i].incarnation != connected && (spare < 0 || !list[i].here || list[spare].here) {
			spare = i
		}
	}
	return spare
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
