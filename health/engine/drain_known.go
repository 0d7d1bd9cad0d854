package engine

import (
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// LastWilling reports whether no other live server takes clients as their master, and
// which of them drain. A server that has not said what it does is taken for willing.
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

// drains reports whether this server has clients choose others. Where no other takes them
// it goes on as if it did not drain: an orphan would find no master, and be evicted.
func (s *Server) drains() bool {
	if !s.drain.on {
		return false
	}
	_, last := s.LastWilling()
	return !last
}

// tell tells all live servers whether this one drains: one message each, once per change.
func (d *drain) tell(s *Server) {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			s.sendDigest(int32(i), wire.Digest, nil)
		}
	}
}

// MayDrain returns an [*Error] if this server is the last one that takes clients as their
// master, and does not drain yet: if it drained, too, they would have nowhere to go.
func (s *Server) MayDrain() error {
	if draining, last := s.LastWilling(); last && !s.drain.on {
		return &Error{"no other live server takes clients as their master", draining}
	}
	return nil
}
