package engine

import (
	"time"

	"ulnet/health/wire"
)

// balance evens out how many clients have which server as their master, as after
// a server's return: clients choose at random, and never change without need, so
// that it would stay idle (local policy).
//
// Servers say in their digests how many clients they have: to all that they hold
// clients under, to two others in turn, and to who has come back. Who has far
// more than another asks a part of its clients to choose that one, over a while;
// they keep all their connections. Far is more than chance makes of even loads,
// and less of a server that has come back, which has none for a reason.
type balance struct {
	counted time.Duration // active time
	mine    int           // clients whose master this is, then
	cursor  int32         // the next place to take a client from
	turn    int32         // the next server to tell
	shed    bool          // somebody is to be asked
}

// burden is what a server is known to have.
type burden struct {
	clients  int
	idle     wire.Code     // it takes no clients, and why; OK: it does
	favored  time.Duration // until when it has come back not long ago
	greet    bool          // it is to be told, and to answer
	surplus  int           // clients to be asked to choose it
	perTick  int
	reported bool
}

const (
	greeted    = 2  // servers that are told besides
	shedTicks  = 16 // ticks over which clients are asked
	favorFor   = 4  // eviction time-outs for which a return is news
	deviations = 4  // of chance, which are not far
)

// load is how many clients have this server as their master, counted once per tick.
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

// standing is whether this server takes clients as their master.
func (b *balance) standing(s *Server) wire.Code {
	switch {
	case !s.quorum.have:
		return wire.NoQuorum
	case s.drain.on:
		return wire.Draining
	}
	return wire.OK
}

// returned notes that a server has come back.
func (b *balance) returned(s *Server, m *member) {
	m.burden = burden{greet: true, favored: s.now + favorFor*s.cfg.Evict}
}

// heard takes a server's word of its load.
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
	// The others do the same: of what does not divide evenly some give one more, who
	// are others for each server.
	live, rank := s.members.distance(i)
	o.surplus = more*(rank+1)/live - more*rank/live
	o.perTick = (o.surplus + shedTicks - 1) / shedTicks
	b.shed = b.shed || o.surplus > 0
}

// distance is how many servers live, and how many of them it is from one to this
// one, in the order of their NIDs and around.
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

// run tells loads and asks clients, once per tick.
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
		// Others may have come and gone since it told its load, or this one have asked
		// many to go elsewhere.
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

// ask asks some clients, each time others, to choose a server.
func (b *balance) ask(s *Server, to int32, count int) (asked int) {
	places := int32(len(s.table.blocks) * blockSize)
	for range places {
		if asked == count {
			break
		}
		c := s.conn(b.cursor % places)
		b.cursor = (b.cursor + 1) % places
		if c.state == connected && s.ours(c) {
			s.suggest(c, to)
			asked++
		}
	}
	s.stats.Shed += uint64(asked)
	return asked
}

// rotate has some servers told that this round of digests does not reach: the
// next ones in their order.
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

// suggest asks a client to choose a certain server.
func (s *Server) suggest(c *conn, to int32) {
	s.stats.Notices[wire.Draining]++
	s.send(c.peer, &wire.Message{
		Kind: wire.Notice, Code: wire.Draining, Client: c.id, Incarnation: c.incarnation, Epoch: c.epoch, Server: s.members.nid(to),
	})
}
