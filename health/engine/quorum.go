package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
)

// quorum is whether this server can reach most others, as discovery says.
type quorum struct {
	have   bool
	had    bool
	unsure bool
	lost   bool          // the clients were evicted since
	since  time.Duration // of the loss
	grace  time.Duration
	ended  time.Duration // when there was a quorum last
}

// begin begins without a quorum, and with time to find one: after a restart of
// the whole cluster all servers are alone at first.
func (q *quorum) begin(s *Server) {
	q.since, q.grace = s.now, max(s.cfg.Quorum, s.cfg.Orphan)
}

// is takes what discovery says. A loss counts from when it is certain.
func (q *quorum) is(s *Server, have, unsure bool) {
	if unsure != q.unsure {
		q.unsure = unsure
		q.since = s.now
	}
	if have == q.have {
		return
	}
	q.have = have
	if have {
		away := s.cfg.tombstone() // at the start: nobody knows for how long
		if q.had {
			away = s.now - q.ended
		}
		q.lost, q.had = false, true
		s.emit(ServerEffect{Kind: DoTell, Event: Event{Kind: QuorumWon}})
		s.catchup.won(s, away)
		return
	}
	q.since, q.grace = s.now, max(s.cfg.Quorum, 0)
	q.ended = s.now
	s.pardonRecent()
	s.catchup.lost()
	s.emit(ServerEffect{Kind: DoTell, Event: Event{Kind: QuorumLost}})
}

// cutOff reports whether this server had a quorum and has none.
func (q *quorum) cutOff() bool { return q.had && !q.have }

// next returns when a loss counts.
func (q *quorum) next(s *Server) time.Duration {
	if q.have || q.unsure || q.lost || s.table.count == 0 {
		return machine.Never
	}
	return q.since + q.grace
}

// judge evicts all clients here, and only here, when the loss has lasted (client health
// design, Absence of Server Quorum; CH-A6): what this server could broadcast would
// not reach the majority, which evicts these clients as orphans.
func (q *quorum) judge(s *Server) {
	if s.now < q.next(s) {
		return
	}
	q.lost = true
	s.evictions.clear(s)
	s.each(func(i int32, c *conn) {
		if c.state == saving {
			s.reject(s.question(c), wire.Message{Code: wire.NoQuorum, Retry: s.cfg.Quorum})
		} else {
			s.notify(c, wire.NoQuorum)
		}
		s.end(i, wire.LostQuorum, false)
	})
	s.waiting.clear(s, wire.Message{Code: wire.NoQuorum, Retry: s.cfg.Quorum})
	s.takeovers.clear(s, wire.Message{Code: wire.NoQuorum, Retry: s.cfg.Quorum})
}

// drain makes clients choose other masters, for maintenance or to even out load.
type drain struct {
	on   bool
	next time.Duration // active time of the next reminder
}

// set drains from now on, or not any more; with a count it asks only so many
// clients, once.
func (d *drain) set(s *Server, on bool, count int) {
	if count > 0 {
		s.each(func(_ int32, c *conn) {
			if count > 0 && c.state == connected && s.ours(c) {
				count--
				s.notify(c, wire.Draining)
			}
		})
		return
	}
	changed := on != d.on
	d.on, d.next = on, s.now
	d.remind(s)
	if changed {
		d.tell(s)
	}
}

// remind tells the clients that are still here.
func (d *drain) remind(s *Server) {
	if s.now < d.next || !s.drains() {
		return
	}
	d.next = s.now + s.cfg.Ping
	s.each(func(_ int32, c *conn) {
		if c.state == connected && s.ours(c) {
			s.notify(c, wire.Draining)
		}
	})
}
