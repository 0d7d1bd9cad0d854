package admin

import "sync/atomic"

// Stats are the counters of a service.
type Stats struct {
	Answered   uint64 `json:"answered"`   // requests answered, including those of this node
	Actions    uint64 `json:"actions"`    // actions that were run
	Malformed  uint64 `json:"malformed"`  // malformed requests
	Versions   uint64 `json:"versions"`   // requests of other versions of the format
	Denied     uint64 `json:"denied"`     // refused requests: to run an action, to send bulk data, or to list the clients of this node
	Distrusted uint64 `json:"distrusted"` // refused actions of allowed roots whose NID any process can have
	Unknown    uint64 `json:"unknown"`    // requests for actions that are not configured
	Busy       uint64 `json:"busy"`       // actions refused because MaxActions were running
	Bulk       uint64 `json:"bulk"`       // requests refused because their bulk data exceeds MaxBulk
	Memory     uint64 `json:"memory"`     // requests refused because MaxMemory would be exceeded
	BadPieces  uint64 `json:"bad_pieces"` // answers of children that were malformed, or had pieces of nodes outside their subtrees
	Carried    uint64 `json:"carried"`    // requests whose bulk data had arrived by multicast
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
