package engine

import (
	"cmp"
	"slices"
	"time"
)

// Some servers are dead when a batch is broadcast. The master keeps the batch for them, and broadcasts it again when
// they come back.

// owedUntil returns until when a batch that all live servers have answered is kept for a dead server. A server
// that was cut off for T_q has evicted all its clients by itself (CH-A9), so it needs no evictions after that. But
// a server that counts as dead may only be stopped, or may hear the others without being heard. It then keeps its
// quorum, and the tombstones of evictions that are withdrawn in that time. So withdrawals are kept as long as
// tombstones are.
func (b *batch) owedUntil(s *Server, i int32) time.Duration {
	if b.withdraw {
		return b.began + s.cfg.tombstone()
	}
	return b.awayFor(s, i)
}

// awayFor returns the time at which a dead server, if it does not come back, will have missed the batch for T_q.
func (b *batch) awayFor(s *Server, i int32) time.Duration {
	return max(s.members.list[i].deadSince, b.began) + max(s.cfg.Quorum, 0)
}

// waits reports whether the evictions of the batch, which all live servers have answered, and most of all, must not end
// yet. When a partition begins or ends, discovery reports one server after another. A server that still counts as dead in
// that time may be the client's new master, so this server first asks those that come back in the next three ticks. If
// reports keep coming, it waits for six ticks at most.
func (b *batch) waits(s *Server) bool {
	if b.enough == 0 {
		b.enough = s.now
	}
	return len(b.missing) > 0 && s.now < min(s.members.moved+3*s.cfg.Tick, b.enough+6*s.cfg.Tick)
}

// onlyOwed reports whether a batch is a settled withdrawal of evictions that is kept only for servers that have been
// away for T_q: all servers that have not answered it are dead, and have missed it for that long (see awayFor).
func (b *batch) onlyOwed(s *Server) bool {
	return b.withdraw && b.settled && !slices.ContainsFunc(b.missing, func(i int32) bool { return s.members.alive(i) || s.now < b.awayFor(s, i) })
}

// underWay counts the batches that some server has not answered, without withdrawals that are only owed.
func (e *evictions) underWay(s *Server) (count int) {
	for _, b := range e.batches {
		if !b.onlyOwed(s) {
			count++
		}
	}
	return count
}

// limit bounds the withdrawals that are kept only for dead servers (see onlyOwed). It keeps the latest ones, up to
// Config.MaxClients evictions in all, and drops the others.
func (e *evictions) limit(s *Server) {
	owed := slices.DeleteFunc(slices.Clone(e.batches), func(b *batch) bool { return !b.onlyOwed(s) })
	slices.SortFunc(owed, func(a, b *batch) int { return cmp.Compare(b.began, a.began) })
	room := s.cfg.MaxClients
	for _, b := range owed {
		if room -= len(b.entries); room < 0 {
			e.remove(b)
			s.stats.Unowed += uint64(len(b.entries))
		}
	}
}

// remove drops a batch.
func (e *evictions) remove(b *batch) {
	e.batches = slices.DeleteFunc(e.batches, func(other *batch) bool { return other == b })
}
