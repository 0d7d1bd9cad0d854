package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evictions are the evictions that this server makes as a master. An eviction first waits in
// the queue for the next batch, then in a batch until all live servers have answered.
type evictions struct {
	suspects []suspect
	queue    []eviction
	batches  []*batch                       // new batches first, then those that were sent least recently
	givenUp  []*batch                       // evictions that this server gave up when it lost the quorum, although other servers may have made them
	given    map[clientIncarnation]*givenUp // what is known about the evictions in givenUp
	inFlight int
	lastID   uint64
	urgent   bool                      // a connect waits for an eviction: form a batch without waiting for the next tick
	rivals   map[wire.ClientID][]rival // other servers that evict clients of which this server considers itself the master; nil: there are none
}

// suspect is a client that sent no message for T_evict. The first tick after the transport has said
// when it last received a message of the client's node decides whether to evict the client.
type suspect struct {
	slot int32
	gen  uint32
}

// look says what the server knows from the transport about the node of a client.
type look uint8

const (
	lookNone look = iota // the client is not a suspect
	lookSent             // the transport was asked, and has not answered
	lookDone             // the transport has answered: conn.seen is up to date
)

// lookShare gives the longest time that passes between a late answer of the transport and the decision
// about the client: a tick divided by lookShare.
const lookShare = 10

// eviction is the eviction of one incarnation of a client.
type eviction struct {
	id          wire.ClientID
	incarnation uint64
	epoch       uint32 // epoch of the choice by which the client has this server as its master
	cause       wire.Cause
	exception   wire.Exception // answer of the server that knows the client's latest choice; Code OK: no server knows a later one
	later       uint64         // later incarnation that supersedes this one; 0: none, or the same process runs it
	by          nid.NID        // NID of the process that runs the later incarnation
}

// batch is a broadcast that is repeated until all live servers have answered it.
type batch struct {
	id       uint64
	entries  []eviction
	began    time.Duration
	enough   time.Duration // active time at which all live servers, and most of all, had answered for the first time, see waits
	missing  []int32       // servers that have not answered any of its broadcasts
	servers  int           // number of servers that must get the batch, this one included
	withdraw bool          // the batch withdraws earlier evictions
	inFlight bool
	sent     bool
	ready    bool // the batch waits to be broadcast, see run
	settled  bool // all live servers have answered, and are enough (see judge); dead servers get the batch if they come back in time, see owedUntil
}

// suspect records that a client has been silent for T_evict, and asks the transport about the
// client's node. A client can stay a suspect for a long time while there is no quorum.
func (s *Server) suspect(i int32, c *conn) {
	if c.look == lookNone {
		s.evictions.suspects = append(s.evictions.suspects, suspect{i, c.gen})
	}
	s.askTransport(c)
}

// askTransport asks the transport when it last received a message of a suspect's node.
func (s *Server) askTransport(c *conn) {
	c.look = lookSent
	s.emit(ServerEffect{Kind: DoLook, Client: c.id, To: c.peer, Incarnation: c.carrier})
}

// won asks the transport about all suspects again when the quorum returns. Without a quorum there were no
// decisions, so an answer can be as old as T_evict, and the client's node can have sent messages since.
func (e *evictions) won(s *Server) {
	for _, x := range e.suspects {
		if s.suspected(x) {
			s.askTransport(s.conn(x.slot))
		}
	}
}

// suspected reports whether a client is still a suspect. That ends when its connection ends or is being
// evicted, when the client becomes an orphan or gets another master, and when its look is lookNone.
func (s *Server) suspected(x suspect) bool {
	c := s.conn(x.slot)
	return c.gen == x.gen && c.look != lookNone && c.state == connected && s.ours(c)
}

// evict begins to evict a client whose master this server is. From then on this server does not
// serve the client (CH-A8).
func (s *Server) evict(i int32, cause wire.Cause) {
	c := s.conn(i)
	s.become(c, evicting)
	c.previous, c.look = noSlot, lookNone
	s.unset(i)
	s.takeovers.grant(s, c.id)
	s.tell(ClientSuspended, c, cause)
	s.evictions.queue = append(s.evictions.queue, eviction{id: c.id, incarnation: c.incarnation, epoch: c.epoch, cause: cause})
}

// flush puts queued evictions into batches (CH-27). Without a quorum they stay in the queue:
// either the quorum returns, or the server evicts all its clients locally, without a broadcast
// (CH-30).
func (e *evictions) flush(s *Server) {
	if e.urgent = false; !s.quorum.have {
		e.suspects = slices.DeleteFunc(e.suspects, func(x suspect) bool { return !s.keepSuspect(x) })
		return
	}
	s.decide()
	e.pack(s)
}

// keepSuspect reports whether a suspect stays in the list. It resets the look of the connection of a suspect
// that leaves the list, so that the connection can be listed again later.
func (s *Server) keepSuspect(x suspect) bool {
	keep := s.suspected(x)
	if c := s.conn(x.slot); !keep && c.gen == x.gen {
		c.look = lookNone
	}
	return keep
}

// decide evicts suspects whose nodes are silent too, and clients that did not answer an Ask.
// It sends an Ask to the other suspects. A suspect about which the transport has not answered yet
// stays a suspect: the answer may be late because the shell is busy, and may say that the client's
// node is alive.
func (s *Server) decide() {
	kept := s.evictions.suspects[:0]
	for _, x := range s.evictions.suspects {
		if !s.keepSuspect(x) {
			continue
		}
		c := s.conn(x.slot)
		switch silent := c.seen+s.cfg.Evict <= s.now || s.unanswered(c); {
		case silent && c.look == lookDone:
			s.evict(x.slot, wire.TimedOut)
		case silent:
			kept = append(kept, x)
		default:
			s.inquire(x.slot, c)
		}
	}
	s.evictions.suspects = kept
}

// pack makes batches of the queued evictions. New batches go before repeated ones, so that a
// server that is alive but never answers causes no head-of-line blocking.
func (e *evictions) pack(s *Server) {
	var fresh []*batch
	for chunk := range slices.Chunk(e.queue, wire.MaxBatch) {
		fresh = append(fresh, e.batch(s, slices.Clone(chunk)))
		s.stats.Evictions += uint64(len(chunk))
	}
	e.batches = append(fresh, e.batches...)
	e.queue = e.queue[:0]
}

// batch makes a batch of entries; there are at most MaxBatch.
func (e *evictions) batch(s *Server, entries []eviction) *batch {
	e.lastID++
	b := &batch{id: e.lastID, entries: entries, began: s.now, missing: s.others(), ready: true}
	b.servers = len(b.missing) + 1
	return b
}

// run sends the batches that are ready, at most MaxBroadcasts at a time.
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
		if !s.othersAlive() {
			e.judge(s, b)
			k = -1 // the method judge may have removed the batch from the list
			continue
		}
		b.inFlight, b.sent = true, true
		e.inFlight++
		e.batches = append(slices.Delete(e.batches, k, k+1), b)
		k--
		s.broadcast(b)
	}
}

// othersAlive reports whether another server is alive.
func (s *Server) othersAlive() bool {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			return true
		}
	}
	return false
}

// others returns the listed servers besides this one.
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

// broadcastDone applies the merged answers to the batch.
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
		b.missing = slices.DeleteFunc(b.missing, func(i int32) bool { return !slices.Contains(in.Servers, s.members.nid(i)) })
	}
	e.judge(s, b)
}

// except records, for each client in a batch, the exception of the server that knows the
// client's latest choice.
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

// judge settles a batch once all live servers have answered it (CH-28), if they are more than half
// of all servers or the batch withdraws evictions. If the live servers are fewer, the other servers may
// be a majority that is cut off from this server and has the client's new master (CH-33). Nor does
// judge settle a batch while more servers may be about to come back, see waits. It keeps a settled batch for dead
// servers that may come back, see owedUntil.
func (e *evictions) judge(s *Server, b *batch) {
	listed := len(b.missing)
	b.missing = slices.DeleteFunc(b.missing, func(i int32) bool { return !s.members.list[i].listed })
	b.servers -= listed - len(b.missing)
	alive := slices.ContainsFunc(b.missing, s.members.alive)
	if !alive && !b.settled && (b.most() && !b.waits(s) || b.withdraw) {
		b.settled = true
		e.settle(s, b)
	}
	b.missing = slices.DeleteFunc(b.missing, func(i int32) bool {
		return b.settled && !s.members.alive(i) && b.owedUntil(s, i) <= s.now
	})
	if len(b.missing) == 0 {
		e.remove(b)
	}
}

// retry repeats batches that live servers have not answered, and drops settled ones that are no longer owed.
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
	e.limit(s)
}

// returned handles that server i has come back: each batch that it has not answered becomes ready to
// be broadcast again, unless a broadcast of the batch is under way.
func (e *evictions) returned(s *Server, i int32) {
	for _, b := range e.batches {
		if !b.inFlight && !b.ready && slices.Contains(b.missing, i) {
			b.ready = true
			s.stats.Rebroadcasts++
		}
	}
}

// settle ends the evictions of a batch. If another server knows a later choice of a client, settle withdraws
// the eviction of that client, even if no server has made it: a copy may still be on its way to a server that
// forgets the client meanwhile. Dead servers that come back get the withdrawal instead of the eviction.
func (e *evictions) settle(s *Server, b *batch) {
	if b.withdraw {
		return
	}
	var kept []eviction
	b.entries = slices.DeleteFunc(b.entries, func(x eviction) bool {
		stays := s.finish(&x)
		if stays {
			s.withdrawn(s.members.self, x.entry())
			kept = append(kept, x)
		}
		return stays
	})
	if len(b.entries) == 0 {
		b.missing = nil
	}
	if len(kept) > 0 {
		w := e.batch(s, kept)
		w.withdraw = true
		e.batches = append([]*batch{w}, e.batches...)
	}
}

// staysWith reports whether a client that this server evicts stays connected under another master: another server
// knows a later choice of that master (CH-62), and the master has not evicted the client itself (CH-63).
func (s *Server) staysWith(x *eviction) (master int32, stays bool) {
	master, known := s.members.find(x.exception.Master)
	later := x.exception.Code == wire.OtherMaster && x.exception.Incarnation == x.incarnation && x.exception.Epoch > x.epoch
	return master, later && known && master != s.members.self && !s.evictions.evictedBy(master, x.id, x.exception.Epoch, s.now)
}

// finish ends the eviction of a client, and with it normally the connection. But if another server
// knows a later choice of a master, the client stays connected, with the master of that choice (CH-A8),
// unless that master has evicted the client, too (CH-63).
func (s *Server) finish(x *eviction) (kept bool) {
	i, ok := s.find(x.id)
	master, stays := s.staysWith(x)
	if !ok || s.conn(i).incarnation != x.incarnation || s.conn(i).state != evicting || s.conn(i).epoch != x.epoch {
		gone := !ok || s.conn(i).incarnation == x.incarnation
		return gone && stays // another eviction has ended the connection, and the client may have connected again; this server may even be evicting the new connection. But this eviction must be withdrawn at the servers that have made it: they would go on refusing the client
	}
	c := s.conn(i)
	if stays && x.exception.Epoch > c.epoch {
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
