package engine

import "ulnet/health/wire"

// A server that evicts an orphan tells no other server. A server that learns of such a
// tombstone may have just answered a third one, which asks only the servers from which it was
// cut off. It then answers that one again, so that after a partition all servers refuse an
// incarnation or none does. Other evictions have been broadcast to all that were not cut off.

// lately is the number of ticks after a server's question during which this server still sends
// it the tombstones that it learns.
const lately = 2 * maxAsks

// news are the incarnations that were learned and not passed on yet.
type news map[wire.ClientID]uint64

// learned records that a server has told a tombstone that was new here.
func (u *catchup) learned(e *wire.Entry, from int32) {
	if e.Epoch != 0 {
		return
	}
	if u.news == nil {
		u.news = make(news)
	}
	u.news[e.Client] = e.Incarnation
	u.of(from).told++
}

// heard records that another server has told the same tombstone.
func (u *catchup) heard(e *wire.Entry, from int32) {
	if u.news[e.Client] == e.Incarnation {
		u.of(from).told++
	}
}

// pass answers servers again that have asked lately and have not told all of the news
// themselves. It waits for the answers to this server's own questions first, which may bring
// more.
func (u *catchup) pass(s *Server) {
	if len(u.news) == 0 || u.holds(s) {
		return
	}
	for i := range u.asked {
		q := &u.asked[i]
		if q.answer.at >= 0 && s.now-q.answer.at <= lately*s.cfg.Tick && q.told < len(u.news) {
			s.tellTombstones(int32(i), q.answer)
		}
		q.told = 0
	}
	u.news = nil
}

// pending reports whether there is work for the next tick.
func (u *catchup) pending(s *Server) bool {
	return len(u.news) > 0 || len(u.doubts) > 0 || u.open(s)
}
