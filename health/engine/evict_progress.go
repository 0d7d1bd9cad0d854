package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// EvictionStatus is how far the eviction of a client is that this server makes.
type EvictionStatus struct {
	Incarnation uint64 // of the client
	// Settled means that all live servers have answered; the others are owed it.
	Settled bool
	Missing []nid.NID // live servers that have not answered
	Owed    []nid.NID // dead ones, which are told if they come back within T_q
}

// Eviction tells about an eviction that this server makes; false if there is none of the
// client that some server has not answered.
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

// awaits tells the servers apart that have not answered.
func (s *Server) awaits(st *EvictionStatus, servers []int32) {
	for _, i := range servers {
		if s.members.alive(i) {
			st.Missing = append(st.Missing, s.members.nid(i))
		} else {
			st.Owed = append(st.Owed, s.members.nid(i))
		}
	}
}
