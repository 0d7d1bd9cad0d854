package engine

import (
	"time"

	"ulnet/health/wire"
)

// balance evens out how many clients each server is the master of (local policy). Clients
// choose at random and keep their master while it lives, so a server that was restarted would
// stay idle.
//
// A server reports its number of clients in its digests: to all servers that are masters of
// clients connected to it, to two other servers in turn, and to a server that has come back. A
// server that has far more clients than another server asks a part of them, over some ticks, to
// choose the other one as their master; these clients keep all their connections. "Far more" is
// a difference of four standard deviations of a random choice. If the other server has just come
// back, a difference of two clients is enough.
type balance struct {
	counted time.Duration // active time at which the server last counted its clients, see mine
	mine    int           // number of clients whose master this server is
	cursor  int32         // slot of the table at which the method ask continues
	turn    int32         // number of the next server to report to
	shed    bool          // the surplus of some server is above 0: there are clients still to be asked
}

// burden is the reported load of another server.
type burden struct {
	clients  int
	idle     wire.Code     // why the server takes no clients; OK: it takes clients
	favored  time.Duration // active time until which the server counts as one that has just come back
	greet    bool          // the next tick sends the server a digest, which the server answers with its own load
	surplus  int           // number of clients that are still to be asked to choose the server
	perTick  int           // number of these clients to ask in one tick
	reported bool          // the server has reported a load since it was last discovered alive
}

const (
	greeted    = 2  // number of servers that get a report in a round of digests, besides the masters of clients connected here
	shedTicks  = 16 // number of ticks over which the clients of a surplus are asked
	favorFor   = 4  // how long a server counts as just come back, in units of T_evict
	deviations = 4  // difference in load from which clients are asked, in standard deviations of a random choice
)

// load returns how many clients have this server as their master, counted once per tick.
func (b *balance) load(s *Server) int {
	if b.counted == 0 || s.now-b.counted >= s.cfg.Tick {
		b.counted, b.mine = s.now, 0
		s.each(func(_ int32, c *conn) {
			if c.state == connected && s.ours(c) {
				b.mine++
			}
		})
	}
	return b.mine
}

// standing returns OK if this server takes clients as their master, otherwise the reason why it
// does not.
func (b *balance) standing(s *Server) wire.Code {
	switch {
	case !s.quorum.have:
		return wire.NoQuorum
	case s.drain.on:
		return wire.Draining
	case s.unsaved.on:
		return wire.StoreFailed
	}
	return wire.OK
}

// returned records that another server has come back.
func (b *balance) returned(s *Server, m *member) {
	m.burden = burden{greet: true, favored: s.now + favorFor*s.cfg.Evict}
}

// heard applies a load report of another server, and computes how many clients this server has
// to ask to choose that server.
func (b *balance) heard(s *Server, i int32, m *wire.Message) {
	o := &s.members.list[i].burden
	if o.reported && o.idle == wire.Draining && m.Code == wire.OK {
		o.favored = s.now + favorFor*s.cfg.Evict
	}
	o.reported, o.clients, o.idle, o.surplus = true, int(m.Epoch), m.Code, 0
	if s.cfg.Uneven || o.idle != wire.OK || b.standing(s) != wire.OK || !s.members.alive(i) {
		return
	}
	mine := b.load(s)
	more := mine - o.clients
	if far := more*more > deviations*deviations*(mine+o.clients); more < 2 || !far && s.now >= o.favored {
		return
	}
	// Each live server asks its share of the surplus clients. Shares differ by one client at most.
	// Which servers have the larger ones depends on their ranks, which differ for each receiver.
	live, rank := s.members.distance(i)
	o.surplus = more*(rank+1)/live - more*rank/live
	o.perTick = (o.surplus + shedTicks - 1) / shedTicks
	b.shed = b.shed || o.surplus > 0
}

// distance returns the number of live servers, and the rank of this server among them. Ranks follow
// the order of NIDs. They begin at the server whose index is the parameter from, and wrap around.
func (m *members) distance(from int32) (live, distance int) {
	for i := range m.list {
		if !m.alive(int32(i)) {
			continue
		}
		live++
		if m.list[i].id.Compare(m.list[m.self].id) < 0 {
			distance++
		}
		if m.list[i].id.Compare(m.list[from].id) < 0 {
			distance--
		}
	}
	return live, (distance + live) % live
}

// run sends the reports that are due and asks clients to choose other servers, once per tick.
func (b *balance) run(s *Server) {
	for i := range s.members.list {
		if o := &s.members.list[i].burden; o.greet && s.members.alive(int32(i)) {
			o.greet = false
			s.sendDigest(int32(i), wire.Digest, nil)
		}
	}
	if !b.shed {
		return
	}
	b.shed = false
	for i := range s.members.list {
		o := &s.members.list[i].burden
		if o.surplus == 0 {
			continue
		}
		// The report may be out of date, or this server may have asked many clients to leave since the
		// report.
		if b.standing(s) != wire.OK || !s.members.alive(int32(i)) || b.load(s) < o.clients+2 {
			o.surplus = 0
			continue
		}
		asked := b.ask(s, int32(i), min(o.perTick, o.surplus))
		b.mine -= asked
		o.clients += asked
		if o.surplus -= asked; asked == 0 {
			o.surplus = 0
		}
		b.shed = b.shed || o.surplus > 0
	}
}

// ask asks clients to choose another server as their master. The parameter to is the number of that
// server, and count is how many clients to ask. ask returns how many it has asked. It takes clients
// in round-robin order of slots.
func (b *balance) ask(s *Server, to int32, count int) (asked int) {
	slots := int32(len(s.table.blocks) * blockSize)
	for range slots {
		if asked == count {
			break
		}
		c := s.conn(b.cursor % slots)
		b.cursor = (b.cursor + 1) % slots
		if c.state == connected && s.ours(c) {
			s.suggest(c, to)
			asked++
		}
	}
	s.stats.Shed += uint64(asked)
	return asked
}

// rotate marks the next servers in turn for a load report; it skips those that get one with this
// round of digests.
func (b *balance) rotate(s *Server, told []bool) {
	n := int32(len(s.members.list))
	for left, k := greeted, int32(0); k < n && left > 0; k++ {
		b.turn = (b.turn + 1) % n
		if i := b.turn; i != s.members.self && !told[i] && s.members.alive(i) {
			s.members.list[i].burden.greet = true
			left--
		}
	}
}

// suggest asks a client to choose a given server as its master.
func (s *Server) suggest(c *conn, to int32) {
	s.stats.Notices[wire.Draining]++
	s.send(c.peer, &wire.Message{
		Kind: wire.Notice, Code: wire.Draining, Client: c.id, Incarnation: c.incarnation, Epoch: c.epoch, Server: s.members.nid(to),
	})
}
