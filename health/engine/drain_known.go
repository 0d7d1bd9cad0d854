package engine

import (
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// LastWilling reports whether no other live server takes clients as their master, and returns
// those that drain. A server that has not reported its state counts as willing.
func (s *Server) LastWilling() (draining []nid.NID, last bool) {
	last = true
	for i := range s.members.list {
		if m := &s.members.list[i]; int32(i) != s.members.self && s.members.alive(int32(i)) {
			last = last && m.burden.idle != wire.OK
			if m.burden.idle == wire.Draining {
				draining = append(draining, m.id)
			}
		}
	}
	slices.SortFunc(draining, nid.NID.Compare)
	return draining, last
}

// drains reports whether this server makes its clients choose other masters. If no other server
// takes clients, a draining server behaves as if it did not drain; otherwise orphans would find
// no master and be evicted.
func (s *Server) drains() bool {
	if !s.drain.on {
		return false
	}
	_, last := s.LastWilling()
	return !last
}

// tell reports to all live servers whether this one drains: at each change, one message to each server.
func (d *drain) tell(s *Server) {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			s.sendDigest(int32(i), wire.Digest, nil)
		}
	}
}

// MayDrain returns an [*Error] if this server is the last one that takes clients as their
// master. If that server drained too, clients would find no master.
func (s *Server) MayDrain() error {
	if draining, last := s.LastWilling(); last && !s.drain.on {
		return &Error{"no other live server takes clients as their master", draining}
	}
	return nil
}
