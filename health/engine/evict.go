package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evictions are those that this server makes as a master: first in a queue for
// the next batch, then in a batch until all live servers have answered.
type evictions struct {
	suspects []suspect
	queue    []eviction
	batches  []*batch // new ones first, then those that were sent longest ago
	givenUp  []*batch // since the quorum was lost; others may have made them
	inFlight int
	lastID   uint64
	urgent   bool // a client waits: do not wait for the tick
}

// suspect is a client of which no message came; a tick decides, once the transport
// has had the time to say whether others of its node did.
type suspect struct {
	place int32
	gen   uint32
	at    time.Duration
}

// lookShare is the part of a tick that the transport has to answer.
const lookShare = 10

// eviction is one of an incarnation of a client.
type eviction struct {
	id          wire.ClientID
	incarnation uint64
	epoch       uint32 // of the choice of this server
	cause       wire.Cause
	exception   wire.Exception // of who knows more; Code OK: none
	later       uint64         // the incarnation because of which it is evicted; 0: none, or of the same process
	by          nid.NID        // of that incarnation's process
}

// batch is a broadcast, over again until nobody alive has missed it.
type batch struct {
	id       uint64
	entries  []eviction
	began    time.Duration
	missing  []int32 // servers that have not answered any of its broadcasts
	servers  int     // that are to know of it, this one included
	made     uint64  // evictions and tombstones, at all who answered
	withdraw bool    // it takes evictions back
	inFlight bool
	sent     bool
	ready    bool // to be sent
	settled  bool // all live servers had answered; others are owed it
}

// suspect notes that a client was not heard of.
func (s *Server) suspect(i int32, c *conn) {
	s.evictions.suspects = append(s.evictions.suspects, suspect{i, c.gen, s.now})
}

// evict begins to evict a client whose master this server is: from now on it is
// not served (CH-A8).
func (s *Server) evict(i int32, cause wire.Cause) {
	c := s.conn(i)
	s.become(c, evicting)
	c.previous = noPlace
	s.unset(i)
	s.takeovers.grant(s, c.id)
	s.tell(ClientSuspended, c, cause)
	s.evictions.queue = append(s.evictions.queue, eviction{id: c.id, incarnation: c.incarnation, epoch: c.epoch, cause: cause})
}

// flush puts what waits into batches (CH-27). Without a quorum it waits on: soon
// there is one, or all clients are evicted here, without a broadcast (CH-30).
func (e *evictions) flush(s *Server) {
	if e.urgent = false; !s.quorum.have {
		return
	}
	s.decide()
	e.pack(s)
}

// decide evicts those who are suspected if nothing was heard of their nodes either, and
// those who did not answer when they were asked. The others are asked.
func (s *Server) decide() {
	kept := s.evictions.suspects[:0]
	for _, x := range s.evictions.suspects {
		c := s.conn(x.place)
		watched := c.gen == x.gen && c.state == connected && s.ours(c)
		silent := watched && (c.seen+s.cfg.Evict <= s.now || s.unanswered(c))
		switch answered := x.at + s.cfg.Tick/lookShare; {
		case silent && s.now >= answered:
			s.evict(x.place, wire.TimedOut)
		case silent:
			kept = append(kept, x)
			s.tick = min(s.tick, max(c.seen+s.cfg.Evict+s.cfg.Tick, answered))
		case watched && c.pos != noPlace && c.told:
			s.inquire(x.place, c)
		}
	}
	s.evictions.suspects = kept
}

// pack makes batches of what waits. They go before those that are repeated, so
// that a server that is alive and never answers does not hold up all evictions.
func (e *evictions) pack(s *Server) {
	var fresh []*batch
	for chunk := range slices.Chunk(e.queue, wire.MaxBatch) {
		fresh = append(fresh, e.batch(s, slices.Clone(chunk)))
		s.stats.Evictions += uint64(len(chunk))
	}
	e.batches = append(fresh, e.batches...)
	e.queue = e.queue[:0]
}

// batch makes a batch of at most MaxBatch entries.
func (e *evictions) batch(s *Server, entries []eviction) *batch {
	e.lastID++
	b := &batch{id: e.lastID, entries: entries, began: s.now, missing: s.others(), ready: true}
	b.servers = len(b.missing) + 1
	return b
}

// run sends batches that are ready, a few at a time.
func (e *evictions) run(s *Server) {
	if e.urgent {
		e.flush(s)
	}
	if !s.quorum.have {
		return
	}
	for k := 0; k < len(e.batches) && e.inFlight < s.cfg.MaxBroadcasts; k++ {
		b := e.batches[k]
		if !b.ready {
			continue
		}
		b.ready = false
		if !s.anybody() {
			e.judge(s, b)
			k = -1 // it may be gone
			continue
		}
		b.inFlight, b.sent = true, true
		e.inFlight++
		e.batches = append(slices.Delete(e.batches, k, k+1), b)
		k--
		s.broadcast(b)
	}
}

// anybody reports whether another server is alive.
func (s *Server) anybody() bool {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			return true
		}
	}
	return false
}

// others returns all other servers.
func (s *Server) others() (list []int32) {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.list[i].listed {
			list = append(list, int32(i))
		}
	}
	return list
}

func (s *Server) broadcast(b *batch) {
	request := wire.Batch{Incarnation: s.cfg.Incarnation, Withdraw: b.withdraw}
	for i := range b.entries {
		request.Entries = b.entries[i].entry().AppendTo(request.Entries)
	}
	begin := len(s.out.Buf)
	s.out.Buf = request.AppendTo(s.out.Buf)
	s.stats.Broadcasts++
	s.emit(ServerEffect{Kind: DoBroadcast, ID: b.id, Begin: begin, End: len(s.out.Buf)})
}

// broadcastDone takes the answers to a batch.
func (s *Server) broadcastDone(in *ServerInput) {
	e := &s.evictions
	k := slices.IndexFunc(e.batches, func(b *batch) bool { return b.id == in.ID && b.inFlight })
	if k < 0 {
		s.stats.Late++
		e.inFlight = max(e.inFlight-1, 0)
		return
	}
	b := e.batches[k]
	b.inFlight = false
	e.inFlight--
	reply, err := wire.ParseReply(in.Data)
	switch {
	case in.Failed:
		s.stats.Unsent++
	case err != nil:
		s.stats.BadReplies++
	default:
		b.except(reply)
		b.made += uint64(reply.Evicted) + uint64(reply.Unknown)
		b.missing = slices.DeleteFunc(b.missing, func(i int32) bool { return !slices.Contains(in.Servers, s.members.nid(i)) })
	}
	e.judge(s, b)
}

// except notes which servers know more of a client.
func (b *batch) except(r wire.Reply) {
	for _, x := range r.Exceptions {
		if int(x.Index) >= len(b.entries) {
			continue
		}
		if e := &b.entries[x.Index]; e.exception.Code == wire.OK {
			e.exception = x
		} else {
			e.exception = wire.Latest(e.exception, x)
		}
	}
}

// judge settles a batch that all live servers have answered (CH-28), and keeps
// it for those that are dead: they are owed it for T_q, after which a server
// that was cut off has evicted everybody by itself (CH-A9). What most servers do
// not know is not settled: those that discovery is about to give up may be the
// majority, where the client has found another master (CH-33).
func (e *evictions) judge(s *Server, b *batch) {
	listed := len(b.missing)
	b.missing = slices.DeleteFunc(b.missing, func(i int32) bool { return !s.members.list[i].listed })
	b.servers -= listed - len(b.missing)
	alive := slices.ContainsFunc(b.missing, s.members.alive)
	if !alive && !b.settled && (b.most() || b.withdraw) {
		b.settled = true
		e.settle(s, b)
	}
	b.missing = slices.DeleteFunc(b.missing, func(i int32) bool {
		m := &s.members.list[i]
		return b.settled && !m.alive && max(m.deadSince, b.began)+max(s.cfg.Quorum, 0) <= s.now
	})
	if len(b.missing) == 0 {
		e.batches = slices.DeleteFunc(e.batches, func(other *batch) bool { return other == b })
	}
}

// retry sends once more what live servers have missed, and forgets debts.
func (e *evictions) retry(s *Server) {
	for _, b := range slices.Clone(e.batches) {
		switch {
		case b.inFlight || b.ready:
		case slices.ContainsFunc(b.missing, s.members.alive):
			b.ready = true
			s.stats.Rebroadcasts++
		default:
			e.judge(s, b)
		}
	}
}

// returned pays a server that has come alive what it is owed.
func (e *evictions) returned(s *Server, i int32) {
	for _, b := range e.batches {
		if !b.inFlight && !b.ready && slices.Contains(b.missing, i) {
			b.ready = true
			s.stats.Rebroadcasts++
		}
	}
}

// settle ends the evictions of a batch, and takes those back that others know
// better, if somebody has made them.
func (e *evictions) settle(s *Server, b *batch) {
	if b.withdraw {
		return
	}
	var kept []eviction
	for i := range b.entries {
		if s.finish(&b.entries[i]) {
			kept = append(kept, b.entries[i])
		}
	}
	if len(kept) > 0 && b.made > 0 {
		w := e.batch(s, kept)
		w.withdraw = true
		e.batches = append([]*batch{w}, e.batches...)
	}
}

// finish ends the eviction of a client: it is gone, unless it has another
// master, in which case it stays connected under that one (CH-A8), which has
// not evicted it meanwhile (CH-63).
func (s *Server) finish(x *eviction) (kept bool) {
	i, ok := s.find(x.id)
	if !ok || s.conn(i).incarnation != x.incarnation || s.conn(i).state != evicting {
		return false
	}
	c := s.conn(i)
	master, known := s.members.find(x.exception.Master)
	later := x.exception.Incarnation == x.incarnation && x.exception.Epoch > c.epoch // than the choice of this server (CH-62)
	if x.exception.Code == wire.OtherMaster && later && known && master != s.members.self && master != c.previous {
		s.stats.Kept++
		kept = true
		s.rehome(i, c, master, x.exception.Epoch)
		if s.members.alive(master) {
			s.notify(c, wire.OtherMaster)
		} else {
			s.orphan(i)
		}
	} else {
		if x.later != 0 {
			s.superseded(c, x.later, x.by)
		} else {
			s.notify(c, wire.Global)
		}
		s.end(i, x.cause, true)
	}
	s.waiting.resume(s, x.id)
	return kept
}
