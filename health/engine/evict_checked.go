package engine

import "ulnet/health/wire"

// Any node can connect with a client's id to a server that does not know the client, and name a later choice of a
// master than the client's own, with that server as the master. When that server evicts the node, its eviction
// looks like one by a master that the client chose later. So a server to which the client is connected does not
// obey such an eviction before it has checked it. If it is the client's master itself, it asks the client, which
// answers only the master of its latest choice. Otherwise it asks the client's master. If that is dead, the client
// has T_orphan to choose another one.

// maxEpoch bounds the epochs of the choices that clients send. Evictions and tombstones have 24 bits for an epoch,
// in which epochs up to maxEpoch can be put in order. A client whose epoch comes near maxEpoch begins its next
// incarnation, with epoch 0.
const maxEpoch = 1<<23 - 1

// epochJump bounds how far the epoch of a choice that another node reports may be above the known one. A client
// makes fewer choices before a server has heard of one of them, or has evicted the client.
const epochJump = 1 << 10

// checks reports whether an eviction for a later choice of a master than the known one must be checked, and starts
// the check. This server does not obey the eviction while it checks.
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

// farAhead reports whether the choice by which the client is connected here is so much later than the choice for
// which the client is evicted that the client cannot have made it. This server then does not name its choice to
// the evicting server, which would believe it and ignore the client's real one.
func farAhead(e *wire.Entry, c *conn) bool {
	return c.incarnation == e.Incarnation && e.Epoch != 0 && c.epoch > e.Epoch && c.epoch-e.Epoch >= epochJump
}

// check makes this server ask the client whether it is still its master. If another server is the client's master,
// check makes this server ask that one, with the next digest, whether the client is connected there. A client that
// does not answer for T_evict is evicted as silent. A client that is silent already is not asked anew: it is being
// asked, or is evicted soon. Nor is a client whose connection this server is recovering: it must confirm the
// connection anyway. The result is false if this server is evicting the client itself, or has not accepted it yet.
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
