package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// A server that was cut off, or has just started, does not know which clients other servers evicted
// in that time. A client that was cut off together with the server does not know either. So
// a server that wins the quorum, or that sees another server come back, fetches tombstones (read
// repair). Until all live servers have answered, it tells clients that connect to try again
// later. It does so for at most T_bcast, so that a server that does not answer blocks no client.
// A tombstone that arrives later evicts a client that was accepted in the meantime.

const (
	// maxPages bounds the messages of one answer, and thereby the tombstones in the answer.
	maxPages = 64
	// maxAsks bounds how often a question without an answer is repeated.
	maxAsks = 5
)

// catchup is the state of the read repair of tombstones.
type catchup struct {
	sequence uint64
	until    time.Duration // active time until which connects must wait; 0: they need not
	patience time.Duration // active time until which takeBack waits for answers: by then the questions have been sent maxAsks times
	asked    []question    // the question to each server, by the server's number
	news     news
	doubts   doubts
}

// question has this server's latest question for tombstones to another server, and the latest answer that this
// server gave when the other server asked the same.
type question struct {
	sequence uint64 // sequence number of the open question; 0: none is open
	last     uint64 // sequence number of the latest question, open or not
	age      time.Duration
	at       time.Duration // when the question was last sent
	asks     int
	pages    uint64 // bit mask of the pages of the answer that have arrived
	outdated bool   // the question was sent before this server last lost the quorum
	answer   answer
}

// answer records when and how this server last answered a question of another server.
type answer struct {
	at       time.Duration // active time when the answer was sent; negative: none was sent
	sequence uint64
	age      time.Duration
}

// of returns the question to server i.
func (u *catchup) of(i int32) *question {
	for int(i) >= len(u.asked) {
		u.asked = append(u.asked, question{answer: answer{at: -1}})
	}
	return &u.asked[i]
}

// won asks all live servers for the tombstones that they have added since this server lost the
// quorum. The parameter away says how long ago that was.
func (u *catchup) won(s *Server, away time.Duration) {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			u.ask(s, int32(i), away)
		}
	}
	if u.open(s) {
		u.until, u.patience = s.now+s.cfg.Broadcast, s.now+(maxAsks+1)*s.cfg.Tick
	}
}

// ask asks a server for the tombstones that it added while this server was cut off, for the time away, and shortly
// before that: an eviction needs some time until it is final on all servers. ask does not repeat a question so
// soon that the rate limit of the other server would refuse it.
func (u *catchup) ask(s *Server, i int32, away time.Duration) {
	age := min(min(away, s.cfg.tombstone())+s.cfg.lastWord()+max(s.cfg.Quorum, 0), s.cfg.tombstone())
	if q := u.of(i); q.asks == 0 || q.outdated || s.now-q.at >= s.cfg.Tick/2 || q.age+s.cfg.Tick < age {
		u.askFor(s, i, age)
	}
}

// lost marks the answers so far as outdated, because this server has dropped recent tombstones.
func (u *catchup) lost() {
	for i := range u.asked {
		u.asked[i].outdated = true
	}
}

func (u *catchup) askFor(s *Server, i int32, age time.Duration) {
	u.sequence++
	q := u.of(i)
	if q.sequence != 0 {
		age = max(age, q.age)
	}
	*q = question{sequence: u.sequence, last: u.sequence, age: min(age, s.cfg.tombstone()), answer: q.answer}
	u.send(s, i, q)
}

// askBack is called when another server asks for tombstones. It asks that server the same
// question, unless this server did so in the last maxAsks ticks. After an asymmetric partition
// only one of two servers notices that the other was away; the one that did not notice may have
// evicted clients without the other.
func (u *catchup) askBack(s *Server, i int32, age time.Duration) {
	if q := u.of(i); q.at == 0 || s.now-q.at >= maxAsks*s.cfg.Tick {
		u.askFor(s, i, age)
	}
}

func (u *catchup) send(s *Server, i int32, q *question) {
	q.at, q.asks = s.now, q.asks+1
	s.send(nid.ProcessID{NID: s.members.nid(i), PID: s.cfg.PID}, &wire.Message{Kind: wire.Tombstones, Sequence: q.sequence, Retry: q.age})
}

// open reports whether the answer of a live server is missing.
func (u *catchup) open(s *Server) bool {
	for i := range u.asked {
		if u.asked[i].sequence != 0 && s.members.alive(int32(i)) {
			return true
		}
	}
	return false
}

// holds reports whether connects must wait for answers.
func (u *catchup) holds(s *Server) bool {
	if u.until != 0 && (s.now >= u.until || !u.open(s)) {
		u.until = 0
	}
	return u.until != 0
}

// waits reports whether an answer of a live server is missing and may still come. It is for work that keeps no client
// waiting, and so can wait until all questions have been repeated. Connects wait for T_bcast at most, see holds.
func (u *catchup) waits(s *Server) bool { return s.now < u.patience && u.open(s) }

// run, once per tick, repeats open questions, and ends questions to servers that do not answer.
func (u *catchup) run(s *Server) {
	for i := range u.asked {
		switch q := &u.asked[i]; {
		case q.sequence == 0 || s.now < q.at+s.cfg.Tick:
		case q.asks == maxAsks || !s.members.alive(int32(i)):
			q.sequence = 0
		default:
			u.send(s, int32(i), q)
		}
	}
	u.doubts.run(s)
	u.pass(s)
}

// tombstonesAsked answers another server's question with the youngest tombstones, at most twice
// per tick.
func (s *Server) tombstonesAsked(q *asked) {
	from, ok := s.members.find(q.from.NID)
	if !ok || from == s.members.self || q.from.PID != s.cfg.PID {
		s.stats.Strangers++
		return
	}
	to := s.catchup.of(from)
	if to.answer.at >= 0 && s.now < to.answer.at+s.cfg.Tick/2 {
		s.stats.Hurried++
		return
	}
	to.answer = answer{s.now, q.m.Sequence, q.m.Retry}
	s.tellTombstones(from, to.answer)
	s.digests.wasAway(s, from)
	s.catchup.askBack(s, from, q.m.Retry)
}

// tellTombstones answers a server's question with tombstones.
func (s *Server) tellTombstones(to int32, a answer) {
	pages, cut := s.tombstones.young(s.now, s.cfg.tombstone(), a.age)
	s.stats.Untold += cut
	for k, list := range pages {
		s.send(nid.ProcessID{NID: s.members.nid(to), PID: s.cfg.PID}, &wire.Message{
			Kind: wire.TombstonesReply, Sequence: a.sequence, Epoch: uint32(k)<<16 | uint32(len(pages)), Entries: list,
		})
	}
}

// tombstonesTold applies a page of tombstones that this server has asked for.
func (s *Server) tombstonesTold(q *asked) {
	from, ok := s.members.find(q.from.NID)
	if !ok || from == s.members.self || q.from.PID != s.cfg.PID {
		s.stats.Strangers++
		return
	}
	of := s.catchup.of(from)
	page, pages := q.m.Epoch>>16, q.m.Epoch&0xffff
	switch {
	case of.last == 0 || q.m.Sequence != of.last:
		s.stats.Late++
		return
	case page >= pages || pages > maxPages:
		s.stats.Malformed++
		return
	case of.pages&(1<<page) != 0 && of.sequence != 0:
		return // the message is a duplicate
	}
	for k := range q.m.Entries.Len() {
		s.buryAlso(q.m.Entries.At(k), from)
	}
	s.tombstones.sort()
	if of.pages |= 1 << page; of.pages == ^uint64(0)>>(maxPages-pages) {
		of.sequence = 0
		s.catchup.pass(s)
	}
}
