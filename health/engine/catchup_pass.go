package engine

import (
	"slices"

	"ulnet/health/wire"
)

// A server that evicts an orphan does not notify other servers, so this server may learn of the
// orphan's tombstone only by asking for tombstones itself. Just before that, it may have answered the
// same question of a third server, without this tombstone. The third server asks only the servers from
// which it was cut off, and so would not learn of the tombstone. Therefore this server sends the third
// server its answer again. After a partition, either all servers then refuse an incarnation or none
// does. Other evictions were broadcast to all servers that were not cut off.

// lately is the number of ticks after a server's question during which this server still sends
// it the tombstones that it learns.
const lately = 2 * maxAsks

// news are the incarnations whose tombstones this server has recently learned from another
// server and not passed on yet.
type news map[clientIncarnation]report

// clientIncarnation is an incarnation of a client.
type clientIncarnation struct {
	id          wire.ClientID
	incarnation uint64
}

// report has the servers that have sent a tombstone. There may be very many, most of them sent by one server only.
type report struct {
	by   int32   // the first server that has sent the tombstone
	also []int32 // the other servers that have sent it
}

// learned records that another server has sent a tombstone that was new to this server.
func (u *catchup) learned(e *wire.Entry, from int32) {
	if e.Epoch != 0 {
		return
	}
	if u.news == nil {
		u.news = make(news)
	}
	u.news[clientIncarnation{e.Client, e.Incarnation}] = report{by: from}
}

// heard records that a server, with the number from, has sent a tombstone that is in u.news already, because
// another server has sent it before. The network may deliver the answer with the tombstone twice, so each
// server counts once.
func (u *catchup) heard(e *wire.Entry, from int32) {
	key := clientIncarnation{e.Client, e.Incarnation}
	x, ok := u.news[key]
	if ok && x.by != from && !slices.Contains(x.also, from) {
		x.also = append(x.also, from)
		u.news[key] = x
	}
}

// pass repeats this server's answer, now with the news, to each server that has asked recently,
// unless that server itself has sent all tombstones in the news. While connects wait for the answers
// to this server's own questions, which may bring more news, pass does nothing.
func (u *catchup) pass(s *Server) {
	if len(u.news) == 0 || u.holds(s) {
		return
	}
	told := make([]int, len(u.asked)) // by server: how many of the news it has sent
	for _, x := range u.news {        // any order: the results are sums
		told[x.by]++
		for _, i := range x.also {
			told[i]++
		}
	}
	for i := range u.asked {
		q := &u.asked[i]
		if q.answer.at >= 0 && s.now-q.answer.at <= lately*s.cfg.Tick && told[i] < len(u.news) {
			s.tellTombstones(int32(i), q.answer)
		}
	}
	u.news = nil
}

// pending reports whether there is work for the next tick.
func (u *catchup) pending(s *Server) bool {
	return len(u.news) > 0 || len(u.doubts) > 0 || u.open(s)
}
