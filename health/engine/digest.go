package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// Marks of the entries of digests and of the replies to digests.
const (
	markConfirm = 1 // in a digest: the master must answer about this client even if the client is connected to it
	markKnown   = 1 // in a reply: the client is connected to the master as well
)

// digests tells each master which of its clients are connected to this server (CH-65, CH-66).
type digests struct {
	soon bool          // a client waits for its master's confirmation, so send a digest at the next tick, before the time next
	away bool          // a master was away, so the next digest to it lists all its clients here
	next time.Duration // active time at which the next complete digest is sent
}

// send sends each live master a digest: the clients connected here whose master it is. Between
// complete digests it sends only those clients that wait for a confirmation.
func (d *digests) send(s *Server) {
	whole := s.now >= d.next
	if !whole && (!d.soon && !d.away && s.table.unsure == 0 || s.table.count == 0) {
		return
	}
	if d.soon, d.away = false, false; whole {
		d.next = s.now + s.cfg.Evict
	}
	lists, told := make([]wire.Entries, len(s.members.list)), make([]bool, len(s.members.list))
	s.each(func(_ int32, c *conn) {
		e := wire.Entry{Client: c.id, Incarnation: c.incarnation}
		switch {
		case c.state == recovering:
			e.Mark = markConfirm
		case c.state != connected || !whole && !s.members.list[c.master].away && !c.asked:
			return
		}
		if s.ours(c) || !s.members.alive(c.master) {
			return
		}
		c.asked = false
		lists[c.master] = e.AppendTo(lists[c.master])
		if lists[c.master].Len() == wire.MaxEntries {
			s.sendDigest(c.master, wire.Digest, lists[c.master])
			lists[c.master], told[c.master] = lists[c.master][:0], true
		}
	})
	for i, list := range lists {
		if s.members.list[i].away = false; len(list) > 0 {
			s.sendDigest(int32(i), wire.Digest, list)
			told[i] = true
		}
	}
	if whole && !s.cfg.Uneven {
		s.balance.rotate(s, told)
	}
}

// wasAway records that another server was cut off, or has started. That server may have evicted
// its clients although discovery has not reported it as dead.
func (d *digests) wasAway(s *Server, i int32) { s.members.list[i].away, d.away = true, true }

// include makes the next digest to the master of a client, which is another server, ask about that client.
func (d *digests) include(c *conn) { c.asked, d.soon = true, true }

func (s *Server) sendDigest(to int32, kind wire.Kind, list wire.Entries) {
	s.send(nid.ProcessID{NID: s.members.nid(to), PID: s.cfg.PID}, &wire.Message{
		Kind: kind, Code: s.balance.standing(s), Epoch: uint32(s.balance.load(s)), Entries: list,
	})
}

// digest answers another server's digest. Of the clients in the digest, the answer lists those whose
// master this server is not. Of the clients whose master it is, the answer lists those that the digest
// asks this server to confirm.
func (s *Server) digest(q *asked) {
	from, ok := s.members.find(q.from.NID)
	if !ok || q.from.PID != s.cfg.PID {
		s.stats.Strangers++
		return
	}
	s.balance.heard(s, from, q.m)
	var reply wire.Entries
	for i := range q.m.Entries.Len() {
		e := q.m.Entries.At(i)
		known, unsure := s.watches(e)
		switch {
		case unsure:
			continue // the client itself tells the other server which master it has chosen
		case !known:
			e.Mark = 0
		case e.Mark == markConfirm:
			e.Mark = markKnown
		default:
			continue
		}
		reply = e.AppendTo(reply)
	}
	if len(reply) > 0 || len(q.m.Entries) == 0 { // an empty digest is a question for this server's load
		s.sendDigest(from, wire.DigestReply, reply)
	}
}

// watches reports whether this server is the master of an incarnation. If unsure is true, that
// is not certain yet.
func (s *Server) watches(e wire.Entry) (known, unsure bool) {
	i, ok := s.find(e.Client)
	known = ok && s.conn(i).incarnation == e.Incarnation && s.ours(s.conn(i))
	return known, known && s.conn(i).state == recovering
}

// confirm ends the recovery of a connection, because its master is certain.
func (s *Server) confirm(i int32, c *conn) {
	s.become(c, connected)
	s.watch(i, c)
	s.tell(ClientRehomed, c, 0)
}

// digestReply handles a master's answer about its clients. This server treats a client that the
// master does not know as an orphan, which gives the client time to name its real master.
func (s *Server) digestReply(q *asked) {
	from, ok := s.members.find(q.from.NID)
	if !ok || q.from.PID != s.cfg.PID {
		s.stats.Strangers++
		return
	}
	s.balance.heard(s, from, q.m)
	for k := range q.m.Entries.Len() {
		e := q.m.Entries.At(k)
		i, ok := s.find(e.Client)
		if !ok || s.conn(i).incarnation != e.Incarnation || s.conn(i).master != from {
			continue
		}
		c := s.conn(i)
		switch {
		case e.Mark == markKnown && c.state == recovering:
			s.confirm(i, c)
			s.notify(c, wire.OtherMaster)
		case e.Mark != markKnown && (c.state == connected || c.state == recovering):
			s.stats.Ghosts++
			s.orphan(i)
		}
	}
}
