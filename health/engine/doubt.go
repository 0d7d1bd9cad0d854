package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
)

// In an asymmetric partition a server can hear the other servers and keep its quorum, while they do not
// hear it. A client may then have chosen this server as its master while the others evicted the client.
// After the partition, the others report a tombstone that belongs to an earlier choice of the client,
// and may be about to withdraw it. So this server asks all others for their tombstones. If more than
// half of the servers have had the tombstone for T_evict, this server evicts the client (CH-33). If
// not, the client stays. The same holds for a tombstone that names no choice of a master, because any node can
// leave one at a server by connecting with the client's id.

// doubts are the clients that are connected here although other servers have a tombstone, which
// belongs to an earlier choice of a master than the connection, or to no choice that is known.
type doubts map[wire.ClientID]*doubt

type doubt struct {
	incarnation uint64
	by          []holder      // servers that have had a tombstone for T_evict, each once
	age         time.Duration // age of the oldest tombstone that was reported
	at          time.Duration // active time at which to ask all servers for tombstones
	asked       bool
}

// holder is a server that has had a tombstone for T_evict. Its epoch is that of the choice of a master in the
// tombstone, or 0 if the tombstone names none.
type holder struct {
	server int32
	epoch  uint32
}

// said records for how long a server has had a tombstone of a client, and reports whether most
// servers have had it for T_evict. If the tombstone does not count yet, all servers will be asked
// again when it does.
func (d *doubts) said(s *Server, c *conn, epoch uint32, from int32, age time.Duration) bool {
	x := (*d)[c.id]
	if x == nil || x.incarnation != c.incarnation {
		if *d == nil {
			*d = make(doubts)
		}
		x = &doubt{incarnation: c.incarnation, at: s.now}
		(*d)[c.id] = x
	}
	x.age = max(x.age, age)
	age -= s.cfg.tombstone() / 255 // on the wire, the age is rounded up by at most this much
	if wait := max(s.cfg.Evict-age, s.withdrawnFor(c, epoch)); wait > 0 {
		x.at, x.asked = max(x.at, s.now+wait), false
		return false
	}
	if k := slices.IndexFunc(x.by, func(h holder) bool { return h.server == from }); k < 0 {
		x.by = append(x.by, holder{from, epoch})
	} else if epoch == 0 || x.by[k].epoch != 0 && chosenLater(epoch, x.by[k].epoch) {
		x.by[k].epoch = epoch
	}
	over := 2*len(x.by) > len(s.others())+1
	if over {
		delete(*d, c.id)
	}
	return over
}

// withdrawnFor returns for how long other servers may still report a tombstone of the client with this epoch because
// the withdrawal of the eviction, which this server has got, is on its way to them. The result is 0 or less if there is
// no such withdrawal, or if all servers have got it.
func (s *Server) withdrawnFor(c *conn, epoch uint32) time.Duration {
	if !s.copyTold(&wire.Entry{Client: c.id, Incarnation: c.incarnation, Epoch: epoch}) {
		return 0
	}
	g, _ := s.tombstones.of(c.id, c.incarnation)
	return g.until - s.cfg.tombstone() + s.cfg.Evict - s.now
}

// withdrawn handles the withdrawal of an eviction. Tombstones for the same choice of a master, or an earlier one,
// no longer count. Tombstones for later choices, and tombstones that name none, still count, since the withdrawal
// may be older than they are. If the withdrawal names no choice, no tombstone counts any more. A tombstone for
// an earlier choice may be that of another master, which has not withdrawn its eviction. So this server asks all servers
// again after T_evict, when all have got the withdrawal, and counts what they still have.
func (d doubts) withdrawn(s *Server, e *wire.Entry) {
	x := d[e.Client]
	if x == nil || x.incarnation != e.Incarnation {
		return
	}
	before := len(x.by)
	x.by = slices.DeleteFunc(x.by, func(h holder) bool {
		return e.Epoch == 0 || h.epoch != 0 && !e.Before(h.epoch)
	})
	if len(x.by) < before {
		x.at, x.asked = s.now+s.cfg.Evict, false
	}
}

// run asks all servers once for their tombstones, for the clients in d whose question is due. It drops
// from d the clients about which it asked some ticks ago; they stay connected.
func (d *doubts) run(s *Server) {
	ask, age := false, time.Duration(0)
	for id, x := range *d { // any order: the clients are independent
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
