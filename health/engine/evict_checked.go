package engine

import "ulnet/health/wire"

// Any node can connect with a client's id to a server that does not know the client, and name a choice of that
// server as its master that is later than the client's own. When that server evicts the node, its eviction looks
// like one by a master that the client has chosen since. So a server to which the client is connected checks that
// first. If it is the client's master itself, it asks the client, which answers only the master that it has chosen
// last. Otherwise it asks the master that it knows. If that is dead, the client has T_orphan to name another one.

// maxEpoch bounds the epochs of choices that clients send. Below it epochs are in order in the 24 bits that
// evictions and tombstones have for them. A client that comes near begins its next
// incarnation, with epoch 0.
const maxEpoch = 1<<23 - 1

// epochJump bounds by how much a choice that is reported can be later than the one that is known. A client makes fewer choices
// while a server does not hear it and has not evicted it.
const epochJump = 1 << 10

// checks reports whether an eviction for a later choice of a master than the known one must be checked first, and
// begins to check it. Until then this server does not make the eviction.
func (s *Server) checks(i int32, e *wire.Entry, from int32) bool {
	c := s.conn(i)
	if c.master == from || !chosenAfter(e, c) || s.takenBack(e, from) || !s.check(i) {
		return false
	}
	if s.ours(c) {
		s.evictions.alsoEvicts(e, from, s.now+s.cfg.tombstone())
	}
	return true
}

// farAhead reports whether the connection that this server has is for a choice so far after the one for which the client is
// evicted that it is not the client's. This server does not name that choice to the evicting one, which would believe it, and
// ignore the client's own.
func farAhead(e *wire.Entry, c *conn) bool {
	return c.incarnation == e.Incarnation && e.Epoch != 0 && c.epoch > e.Epoch && c.epoch-e.Epoch >= epochJump
}

// check asks the client whether this server is still its master, or the client's master whether the client is still
// connected there. If the client does not answer within T_evict, it is evicted as one that is silent. A client that
// is silent already is being asked, or is evicted soon, and one whose connection this server is recovering must
// confirm it anyway. The result is false if this server is evicting the client itself, or has not accepted it yet.
func (s *Server) check(i int32) bool {
	c := s.conn(i)
	switch {
	case c.state == saving || c.state == evicting:
		return false
	case s.ours(c):
		if c.state == connected && c.said+s.cfg.Evict > s.now {
			c.said = s.now - s.cfg.Evict
			s.set(i, s.now)
		}
	case c.state == connected && s.members.alive(c.master):
		s.digests.include(c)
	}
	return true
}
