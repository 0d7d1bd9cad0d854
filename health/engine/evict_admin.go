package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evictClient handles an administrator's order to evict a client. Normally only the client's
// master evicts it. An orphan has no live master, so the server that gets the order evicts it,
// and other servers agree if the client is an orphan there, too, with the same choice of a
// master. Without a quorum this server ends only the connection to itself, without a broadcast
// and without a tombstone.
func (s *Server) evictClient(in *ServerInput) {
	result := ServerEffect{Kind: DoResult, Token: in.Token, Client: in.Client}
	i, ok := s.find(in.Client)
	if !ok {
		result.Code = wire.NotConnected
		s.emit(result)
		return
	}
	c := s.conn(i)
	result.Server, result.Incarnation = s.members.nid(c.master), c.incarnation
	switch {
	case c.state == evicting:
	case c.state == saving:
		result.Code = wire.Busy
	case !s.quorum.have: // no majority would receive the eviction and agree
		result.Code = wire.NoQuorum
		s.notify(c, wire.NoQuorum)
		s.end(i, wire.ByAdmin, false)
	case c.state == orphaned: // an orphan has no live master that could evict it
		s.evict(i, wire.ByAdmin)
		s.evictions.urgent = true
	case c.state != connected && !s.ours(c): // recovering: this server is still asking the client's master about the client
		result.Code = wire.Orphaned
	case !s.ours(c):
		result.Code = wire.OtherMaster
	default:
		s.evict(i, wire.ByAdmin)
		s.evictions.urgent = true
	}
	s.emit(result)
}

// ofOrphan reports whether e is an eviction by an administrator of a client that is an orphan
// here, in the same incarnation and with the same choice of a master. Any server may evict an
// orphan.
func ofOrphan(e *wire.Entry, c *conn) bool {
	return wire.Cause(e.Mark) == wire.ByAdmin && c.state == orphaned && c.incarnation == e.Incarnation && e.Epoch == c.epoch&(1<<24-1)
}

// EvictionStatus is the progress of an eviction that this server makes.
type EvictionStatus struct {
	Incarnation uint64 // incarnation of the client that was evicted
	// Settled means that all live servers have answered the batch, and are more than half of all
	// servers.
	Settled bool
	Missing []nid.NID // live servers that have not answered the batch
	Owed    []nid.NID // dead servers that have not answered; they get the batch if they come back within T_q
}

// Eviction returns the progress of the eviction of a client. It returns false if this server
// makes none, or if all servers have answered it.
func (s *Server) Eviction(id wire.ClientID) (st EvictionStatus, ok bool) {
	for _, x := range s.evictions.queue {
		if x.id == id {
			st.Incarnation = x.incarnation
			s.awaits(&st, s.others())
			return st, true
		}
	}
	for _, b := range s.evictions.batches {
		for i := range b.entries {
			if x := &b.entries[i]; x.id == id && !b.withdraw && (!ok || x.incarnation >= st.Incarnation) {
				st, ok = EvictionStatus{Incarnation: x.incarnation, Settled: b.settled}, true
				s.awaits(&st, b.missing)
			}
		}
	}
	return st, ok
}

// awaits divides the servers that have not answered into live and dead ones.
func (s *Server) awaits(st *EvictionStatus, servers []int32) {
	for _, i := range servers {
		if s.members.alive(i) {
			st.Missing = append(st.Missing, s.members.nid(i))
		} else {
			st.Owed = append(st.Owed, s.members.nid(i))
		}
	}
}
