package engine

import "ulnet/health/wire"

// A master that is cut off for T_q gives up the evictions that it has begun, since only a
// majority can evict a client from all servers. Some servers may have made these evictions
// nevertheless, and a late copy of the request may reach another server. That server would then
// refuse an incarnation that is connected elsewhere, and pass its tombstone on. So the master
// withdraws these evictions when it has a quorum again.

// most reports whether more than half of the servers, this one included, have made the evictions
// of the batch.
func (b *batch) most() bool { return 2*(b.servers-len(b.missing)) > b.servers }

// clear gives up all evictions, but remembers those that other servers may have made.
func (e *evictions) clear(s *Server) {
	room := s.cfg.MaxClients
	var kept []*batch
	for _, b := range append(e.batches, e.givenUp...) {
		if b.entries = b.doubtful(); len(b.entries) > 0 && len(b.entries) <= room {
			room -= len(b.entries)
			kept = append(kept, b)
		}
	}
	*e = evictions{givenUp: kept, inFlight: e.inFlight, lastID: e.lastID}
}

// doubtful returns the evictions of a given-up batch that perhaps no majority has made.
func (b *batch) doubtful() (list []eviction) {
	if b.settled || !b.sent {
		return nil
	}
	for i := range b.entries {
		if x := &b.entries[i]; b.withdraw || !b.most() || x.exception.Code == wire.OtherMaster {
			list = append(list, *x)
		}
	}
	return list
}

// takeBack withdraws the evictions that were given up, once there is a quorum again and the
// other servers have sent their tombstones. It keeps evictions that another server has also
// ordered, as a master.
func (e *evictions) takeBack(s *Server) {
	if len(e.givenUp) == 0 || !s.quorum.have || s.catchup.holds(s) {
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
			w.withdraw = true
			e.batches = append(e.batches, w)
		}
	}
	e.givenUp = nil
}

// madeByOthers reports whether the client's tombstone comes from an eviction by another server, which only that
// server can withdraw. Other servers tell this server its own eviction with the same epoch.
func (s *Server) madeByOthers(x *eviction) bool {
	g, ok := s.tombstones.incarnations[x.id]
	e := x.entry()
	return ok && !g.void && g.incarnation >= x.incarnation && (g.incarnation > x.incarnation || g.epoch == 0 || g.epoch != e.Epoch)
}

// entry returns the eviction as an entry of a message.
func (x *eviction) entry() wire.Entry {
	return wire.Entry{Client: x.id, Incarnation: x.incarnation, Mark: uint8(x.cause), Epoch: x.epoch & (1<<24 - 1)}
}
