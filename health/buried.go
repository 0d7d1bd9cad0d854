package health

// Buried returns the highest life of a client that must not connect here again, as
// its tombstone says (CH-65); false if there is none.
func (s *Server) Buried(id ClientID) (incarnation uint64, ok bool) { return s.tombstones.covers(id, 0) }

// Buried returns the highest life of a client that must not connect here again;
// false if there is none.
func (a *ServerAgent) Buried(id ClientID) (incarnation uint64, ok bool) {
	a.runner.Inspect(func() { incarnation, ok = a.m.Buried(id) })
	return incarnation, ok
}
