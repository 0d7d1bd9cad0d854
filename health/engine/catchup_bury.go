package engine

import (
	"time"

	"ulnet/health/wire"
)

// buryAlso adds a tombstone of another server as if this server had loaded it after a restart.
// If the client is connected in that incarnation, buryAlso evicts it. If the client has chosen another master since
// that eviction, or the tombstone names no choice of a master, buryAlso does so only if most servers have the
// tombstone. If an earlier incarnation is connected, it stays, as in buryLater, because any node can have connected
// with the client's id elsewhere. It may have ended while this server was cut off, so buryAlso has its master
// asked whether it is still connected.
func (s *Server) buryAlso(e wire.Entry, from int32) {
	if e.Incarnation > s.believed(e.Client) { // a tombstone with such a high number would refuse all later incarnations
		s.stats.Ahead++
		return
	}
	if !s.copyTold(&e) {
		s.evictions.givenUpOf(&e).told(&e)
	}
	left := s.cfg.tombstone() * time.Duration(e.Mark) / 255
	ordered := s.now + left - s.cfg.tombstone()
	switch g, ok := s.tombstones.of(e.Client, e.Incarnation); {
	case ok && !g.void && !g.onlyLeft(): // the tombstone of one that has left here becomes that of the eviction
		s.catchup.heard(&e, from)
		s.toldAgain(&e, ordered)
		return
	case left == 0 || s.copyTold(&e) && !s.mayStand(&e):
		return
	}
	of := s.nidOf(e.Client)
	if i, known := s.find(e.Client); known && s.conn(i).incarnation == e.Incarnation && !s.buriedElsewhere(i, &e, from, s.cfg.tombstone()-left) {
		return
	}
	s.stats.Fetched++
	s.emit(ServerEffect{Kind: DoRemove, Client: e.Client, Incarnation: e.Incarnation, Epoch: e.Epoch, For: left})
	if i, known := s.find(e.Client); known { // connected in another incarnation: DoRemove has removed its record, so save it again
		c := s.conn(i)
		if s.save(0, c); c.incarnation < e.Incarnation && !s.ours(c) {
			s.digests.include(c)
		}
	}
	s.stats.Forgotten += s.tombstones.bury(e.Client, e.Incarnation, s.now+left, of, s.incarnation(e.Client))
	s.said(&e, unnamed, ordered)
	if g, ok := s.tombstones.of(e.Client, e.Incarnation); ok && !g.untold() {
		s.catchup.learned(&e, from)
	}
	if g, _ := s.tombstones.of(e.Client, e.Incarnation); g.noChoice != 0 && g.noChoice != g.until {
		s.tombstones.queue = append(s.tombstones.queue, slot{e.Client, g.noChoice})
	}
}

// toldAgain handles another server's report of a tombstone of an incarnation of which this server already has one.
// The incarnation is refused until both have expired. If the two belong to evictions by different masters, the
// tombstone of the master that the client chose later counts, whichever arrived first: the earlier master may still
// withdraw its eviction. If the reported tombstone names no choice of a master, toldAgain sets noChoice: the
// incarnation then stays refused even if the eviction of the known tombstone is withdrawn. noChoice is stored only if
// the reported tombstone lasts longer, because after a restart the server asks the others for their tombstones again.
func (s *Server) toldAgain(e *wire.Entry, ordered time.Duration) {
	g, ok := s.tombstones.of(e.Client, e.Incarnation)
	if !ok || s.copyTold(e) {
		return
	}
	until := max(g.until, ordered+s.cfg.tombstone())
	longer, later := until > g.until, g.from != noSlot && chosenLater(e.Epoch, g.epoch)
	if longer {
		g.until = until
		s.tombstones.queue = append(s.tombstones.queue, slot{e.Client, until})
	}
	if g.from != noSlot && e.Epoch == 0 {
		s.noChoiceTold(&g, ordered)
		s.tombstones.queue = append(s.tombstones.queue, slot{e.Client, g.noChoice}) // the caller sorts the queue
	}
	if s.tombstones.set(e.Client, g); later {
		s.said(e, unnamed, ordered)
	}
	// If the tombstone expires at the next tick, or should have expired, the store need not have it. DoRemove with a
	// negative For would remove the client's other tombstones from the store.
	if left := until - s.now; (longer || later) && left > s.cfg.Tick {
		s.emit(ServerEffect{Kind: DoRemove, Client: e.Client, Incarnation: e.Incarnation, Epoch: e.Epoch, For: left})
		s.saveAgain(e.Client)
	}
}

// buriedElsewhere ends the connection of an incarnation for which another server has a tombstone of the given age. It
// reports whether it ended the connection at once. A tombstone that names no choice of a master may have been left by
// another node, which has connected to the other server with the client's id, and disconnected.
func (s *Server) buriedElsewhere(i int32, e *wire.Entry, from int32, age time.Duration) bool {
	c := s.conn(i)
	later := e.Epoch == 0 || e.Before(c.epoch)
	switch {
	case !later && c.master != from && s.check(i):
		return false
	case c.state == evicting, later && !s.catchup.doubts.said(s, c, e.Epoch, from, age):
		return false
	case later && c.state == connected && s.ours(c): // other servers may know this server as the client's master, so the client is evicted from all servers
		s.evict(i, wire.LostMaster)
		s.evictions.urgent = true
		return false
	case c.state == saving:
		s.reject(s.question(c), wire.Message{Code: wire.Global})
	default:
		s.notify(c, wire.Global)
	}
	s.end(i, wire.LostMaster, false)
	s.waiting.resume(s, e.Client)
	return true
}

// mayStand reports whether a tombstone that another server reports may count, although copyTold takes it for that of a
// withdrawn eviction. It may if the client is connected here for a later choice of a master, and no withdrawal names
// exactly the choice of the tombstone: then the eviction may be that of another master, which has not withdrawn it.
// Whether the tombstone counts is then for most servers to decide, see doubts.
func (s *Server) mayStand(e *wire.Entry) bool {
	i, ok := s.find(e.Client)
	g, _ := s.tombstones.of(e.Client, e.Incarnation)
	return ok && s.conn(i).incarnation == e.Incarnation && e.Before(s.conn(i).epoch) && !g.taken.exactly(e.Epoch)
}
