package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
)

// quorum tracks whether this server can reach a majority of the servers, as discovery reports.
type quorum struct {
	have   bool
	had    bool
	unsure bool
	lost   bool          // there was no quorum for so long that all clients were evicted
	since  time.Duration // active time since which the quorum counts as lost
	first  time.Duration // the same without what resumed has added
	grace  time.Duration
	ended  time.Duration // active time at which the quorum was last lost
}

// begin starts without a quorum, and allows time to get one: when the whole cluster restarts,
// every server is alone at first.
func (q *quorum) begin(s *Server) {
	q.from(s.now)
	q.grace = max(s.cfg.Quorum, s.cfg.Orphan)
}

// is applies a report of discovery. The time without a quorum is measured from when discovery is sure
// of the loss.
func (q *quorum) is(s *Server, have, unsure bool) {
	if unsure != q.unsure {
		q.unsure = unsure
		q.from(s.now)
	}
	if have == q.have {
		return
	}
	q.have = have
	if have {
		away := s.cfg.tombstone() // at its start, this server does not know for how long it was away: it asks for all tombstones
		if q.had {
			away = s.now - q.ended
		}
		q.lost, q.had = false, true
		s.emit(ServerEffect{Kind: DoTell, Event: Event{Kind: QuorumWon}})
		s.evictions.won(s)
		s.orphansAnew(q.ended)
		s.catchup.won(s, away)
		return
	}
	q.from(s.now)
	q.grace = max(s.cfg.Quorum, 0)
	q.ended = s.now
	s.revokeRecent()
	s.catchup.lost()
	s.evictions.lost()
	s.emit(ServerEffect{Kind: DoTell, Event: Event{Kind: QuorumLost}})
}

// resumed is called after a pause of this process. Discovery may have found a quorum meanwhile, and has not
// reported it yet. So this server evicts no client for lack of a quorum in the next two ticks. All such
// delays together are at most two ticks, because a server that has lost its quorum must stop serving its
// clients even if it pauses over and over (CH-A6).
func (q *quorum) resumed(s *Server) {
	q.since = max(q.since, min(s.now-q.grace, q.first)+2*s.cfg.Tick)
}

// from sets the time since which the quorum counts as lost.
func (q *quorum) from(now time.Duration) { q.since, q.first = now, now }

// cutOff reports whether this server had a quorum and has none.
func (q *quorum) cutOff() bool { return q.had && !q.have }

// next returns when the loss of the quorum has lasted long enough to evict all clients.
func (q *quorum) next(s *Server) time.Duration {
	if q.have || q.unsure || q.lost || s.table.count == 0 {
		return machine.Never
	}
	return q.since + q.grace
}

// judge evicts all clients locally when the loss has lasted long enough (client health design,
// Absence of Server Quorum; CH-A6). A broadcast would not reach the majority, which evicts these
// clients as orphans.
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

// drain makes clients choose other masters, so that an administrator can take this server down.
type drain struct {
	on   bool
	next time.Duration // active time at which clients are reminded again
}

// set begins or ends draining. If count is above 0, it only asks that many clients to choose
// other masters, once.
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

// remind repeats the request to clients that still have this server as their master.
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
