package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
)

// A server may be cut off in one direction: it hears the others, and keeps its quorum,
// while these do not hear it. Then a client may have chosen it while they evicted that
// client. When they tell it the tombstone, that is of an earlier choice, and may be one that
// is about to be withdrawn. So all others are asked: if most servers have had the tombstone
// for T_evict the client is gone (CH-33), otherwise it stays.

// doubts are clients that are connected here by a later choice of a master than the one
// that a tombstone is of.
type doubts map[wire.ClientID]*doubt

type doubt struct {
	incarnation uint64
	by          []int32       // servers that have had the tombstone for T_evict
	age         time.Duration // of the oldest that was told
	at          time.Duration // when to ask all
	asked       bool
}

// said notes that a server has had a tombstone of a client for a while, and reports whether
// most servers have.
func (d *doubts) said(s *Server, c *conn, from int32, age time.Duration) bool {
	x := (*d)[c.id]
	if x == nil || x.incarnation != c.incarnation {
		if *d == nil {
			*d = make(doubts)
		}
		x = &doubt{incarnation: c.incarnation, at: s.now}
		(*d)[c.id] = x
	}
	x.age = max(x.age, age)
	if age -= s.cfg.tombstone() / 255; age < s.cfg.Evict { // as told it is up to so much younger
		x.at, x.asked = max(x.at, s.now+s.cfg.Evict-age), false
		return false
	}
	if !slices.Contains(x.by, from) {
		x.by = append(x.by, from)
	}
	over := 2*len(x.by) > len(s.others())+1
	if over {
		delete(*d, c.id)
	}
	return over
}

// run asks all about those of whom it is time, once, and lets the others be that were asked
// about.
func (d *doubts) run(s *Server) {
	ask, age := false, time.Duration(0)
	for id, x := range *d { // any order
		i, known := s.find(id)
		switch {
		case !known || s.conn(i).incarnation != x.incarnation || x.asked && s.now >= x.at:
			delete(*d, id)
		case !x.asked && s.now >= x.at:
			x.asked, x.at = true, s.now+lately*s.cfg.Tick
			ask, age = true, max(age, x.age)
		}
	}
	if !ask {
		return
	}
	for _, i := range s.others() {
		if s.members.alive(i) {
			s.catchup.ask(s, i, age)
		}
	}
}
