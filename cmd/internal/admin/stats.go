package admin

import "sync/atomic"

// Stats counts what a service met.
type Stats struct {
	Answered   uint64 `json:"answered"`   // requests, its own included
	Actions    uint64 `json:"actions"`    // that ran
	Malformed  uint64 `json:"malformed"`  // requests
	Versions   uint64 `json:"versions"`   // requests of other versions
	Denied     uint64 `json:"denied"`     // actions, bulk data and questions for clients that nobody allows
	Distrusted uint64 `json:"distrusted"` // actions of allowed roots, where a NID may be anybody's
	Unknown    uint64 `json:"unknown"`    // actions that are not configured
	Busy       uint64 `json:"busy"`       // actions beyond MaxActions
	Bulk       uint64 `json:"bulk"`       // requests with more bulk data than MaxBulk
	Memory     uint64 `json:"memory"`     // requests that take more than MaxMemory
	BadPieces  uint64 `json:"bad_pieces"` // children whose answers make no sense
	Carried    uint64 `json:"carried"`    // bulk data that had come by multicast
}

type counters struct {
	answered, actions, malformed, versions, denied, distrusted, unknown, busy, bulk, memory, badPieces, carried atomic.Uint64
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	c := &s.stats
	return Stats{
		Answered: c.answered.Load(), Actions: c.actions.Load(), Malformed: c.malformed.Load(), Versions: c.versions.Load(),
		Denied: c.denied.Load(), Distrusted: c.distrusted.Load(), Unknown: c.unknown.Load(), Busy: c.busy.Load(), Bulk: c.bulk.Load(),
		Memory: c.memory.Load(), BadPieces: c.badPieces.Load(), Carried: c.carried.Load(),
	}
}
