package engine

import "ulnet/health/wire"

// Buried returns the highest life of a client that must not connect here again, as
// its tombstone says (CH-65); false if there is none.
func (s *Server) Buried(id wire.ClientID) (incarnation uint64, ok bool) {
	return s.tombstones.covers(id, 0)
}
