package engine

import (
	"cmp"
	"slices"

	"ulnet/health/wire"
)

// A master that is cut off for T_q gives up the evictions that it has begun, since only a
// majority can evict a client from all servers. Some servers may have made these evictions
// nevertheless, and a late copy of the request may reach another server. That server would then
// refuse an incarnation that is connected elsewhere, and pass its tombstone on. So the master
// withdraws these evictions when it has a quorum again.

// most reports whether more than half of the servers, this one included, have made the evictions
// of the batch.
func (b *batch) most() bool { return 2*(b.servers-len(b.missing)) > b.servers }

// givenUp is what this server knows about evictions of a client's incarnation that it has given up.
type givenUp struct {
	own    []uint32 // epochs of the choices for which this server evicted the client, 24 bits
	others []uint32 // epochs of tombstones that other servers have told, of other choices; 0: such a tombstone cannot be withdrawn
}

// clear gives up all evictions. It remembers those that other servers may have made, and the withdrawals, but of
// these only the latest ones, up to Config.MaxClients clients in all.
func (e *evictions) clear(s *Server) {
	room := s.cfg.MaxClients
	var kept []*batch
	all := append(e.batches, e.givenUp...)
	slices.SortStableFunc(all, func(a, b *batch) int { return cmp.Compare(b.began, a.began) })
	for _, b := range all {
		b.entries = b.doubtful()
		switch room -= len(b.entries); {
		case room >= 0 && len(b.entries) > 0:
			kept = append(kept, b)
		case b.withdraw:
			s.stats.Unowed += uint64(len(b.entries))
		}
	}
	*e = evictions{givenUp: kept, given: given(kept, e.given), inFlight: e.inFlight, lastID: e.lastID}
}

// given returns what is known about the evictions in batches.
func given(batches []*batch, before map[clientIncarnation]*givenUp) map[clientIncarnation]*givenUp {
	list := make(map[clientIncarnation]*givenUp)
	for _, b := range batches {
		for i := range b.entries {
			x := b.entries[i].entry()
			key := clientIncarnation{x.Client, x.Incarnation}
			g := cmp.Or(list[key], before[key], &givenUp{})
			if list[key] = g; !slices.Contains(g.own, x.Epoch) {
				g.own = append(g.own, x.Epoch)
			}
		}
	}
	return list
}

// givenUpOf returns what is known about given-up evictions of the incarnation in x; nil: there are none.
func (e *evictions) givenUpOf(x *wire.Entry) *givenUp {
	return e.given[clientIncarnation{x.Client, x.Incarnation}]
}

// told records a tombstone of another server: if it does not belong to an eviction by this server, another one
// has made it.
func (g *givenUp) told(x *wire.Entry) {
	if g != nil && !slices.Contains(g.own, x.Epoch) && !slices.Contains(g.others, x.Epoch) {
		g.others = append(g.others, x.Epoch)
	}
}

// lost is called when this server loses the quorum. While it is cut off, other servers may withdraw the evictions
// that they have told, so it asks them again.
func (e *evictions) lost() {
	for _, g := range e.given { // any order: the evictions are independent
		g.others = nil
	}
}

// withdrawn records that another server has withdrawn its eviction.
func (g *givenUp) withdrawn(x *wire.Entry) {
	if g != nil {
		g.others = slices.DeleteFunc(g.others, func(epoch uint32) bool { return epoch != 0 && !x.Before(epoch) })
	}
}

// doubtful returns the evictions of a given-up batch that perhaps no majority has made. A withdrawal has been given up
// as long as one server has not answered it, even if it is settled or was not sent: that server may have made the
// eviction.
func (b *batch) doubtful() (list []eviction) {
	if b.withdraw {
		return b.entries
	}
	if b.settled || !b.sent {
		return nil
	}
	for i := range b.entries {
		if x := &b.entries[i]; !b.most() || x.exception.Code == wire.OtherMaster {
			list = append(list, *x)
		}
	}
	return list
}

// takeBack withdraws the evictions that were given up, once there is a quorum again and the
// other servers have sent their tombstones. It keeps evictions that another server has also
// ordered, as a master.
func (e *evictions) takeBack(s *Server) {
	if len(e.givenUp) == 0 || !s.quorum.have || s.catchup.waits(s) {
		return
	}
	for _, b := range e.givenUp {
		var list []eviction
		for i := range b.entries {
			x := &b.entries[i]
			if s.now < b.began+s.cfg.tombstone() && !s.madeByOthers(x) {
				s.withdrawn(s.members.self, x.entry())
				list = append(list, *x)
			}
		}
		if len(list) > 0 {
			w := e.batch(s, list)
			if w.withdraw = true; b.withdraw {
				w.began = b.began // sending the withdrawal again does not prolong the time for which it is kept for dead servers
			}
			e.batches = append(e.batches, w)
		}
	}
	e.givenUp, e.given = nil, nil
}

// madeByOthers reports whether another server has evicted the incarnation, too: only that server can withdraw its
// eviction. The tombstone that this server has names one eviction only. That may be this server's own, with the same
// epoch, which another server has told it, while a third one has told it of another eviction: so what others have
// told counts as well. A tombstone of an incarnation that has left does not count: any node can have left it.
func (s *Server) madeByOthers(x *eviction) bool {
	e := x.entry()
	g := s.evictions.givenUpOf(&e)
	if t, ok := s.tombstones.of(x.id, x.incarnation); ok && !t.void && !t.onlyLeft() {
		g.told(&wire.Entry{Epoch: t.epoch})
	}
	return len(g.others) > 0
}

// entry returns the eviction as an entry of a message.
func (x *eviction) entry() wire.Entry {
	return wire.Entry{Client: x.id, Incarnation: x.incarnation, Mark: uint8(x.cause), Epoch: x.epoch & (1<<24 - 1)}
}
