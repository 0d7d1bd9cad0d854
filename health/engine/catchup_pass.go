package engine

import "ulnet/health/wire"

// Who evicts an orphan tells no other server. A server that learns of such tombstones has
// perhaps just answered another one, that asks those from which it was cut off, and nobody
// else. Then it is answered once more, so that after a partition an incarnation is buried
// everywhere or nowhere. Other evictions have been told to all that were not cut off.

// lately is for how many ticks a server that has asked is told what is learned since.
const lately = 2 * maxAsks

// news are the lives that were learned and not passed on yet.
type news map[wire.ClientID]uint64

// learned notes that a server has told a tombstone that was not known here.
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

// heard notes that another one has told the same.
func (u *catchup) heard(e *wire.Entry, from int32) {
	if u.news[e.Client] == e.Incarnation {
		u.of(from).told++
	}
}

// pass answers the servers once more that have asked lately and have not told all of this
// themselves. While this one waits for answers it waits for more.
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

// pending reports whether something is to be done at the next tick.
func (u *catchup) pending(s *Server) bool {
	return len(u.news) > 0 || len(u.doubts) > 0 || u.open(s)
}
