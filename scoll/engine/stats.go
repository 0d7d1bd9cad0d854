package engine

// Stats counts what a [Machine] met.
type Stats struct {
	Requests    uint64 // that arrived and were taken
	Broadcasts  uint64 // of this node
	Malformed   uint64 // messages that cannot be answered
	Protocol    uint64 // messages of another version, or contradictory ones
	Spoofed     uint64 // requests not from the parent, or as from ourselves
	Replayed    uint64 // requests that had arrived before
	NoService   uint64 // refused, as all below
	NoGroup     uint64
	Stale       uint64 // another membership
	Unsigned    uint64 // messages without a code of a key of this node, or with one where it has none
	Rebooted    uint64 // from earlier lives
	Ahead       uint64 // with an incarnation far above the wall clock
	Busy        uint64
	Held        uint64 // requests of others that waited for a place
	HeldTooLong uint64 // of these, without getting one: refused with EMAXACTIVE
	Waited      uint64 // broadcasts of this node that waited until others were over
	Slowed      uint64 // how often fewer of them were let go at a time, because members held some
	Rejected    uint64 // by the service
	Late        uint64 // replies and inputs for what is over
	Stray       uint64 // replies that nobody of that name owes
	BadReply    uint64 // replies that make no sense
	Oversized   uint64 // replies larger than their buffer
	TimedOut    uint64 // children
	Died        uint64 // children, said discovery
	Unsent      uint64 // messages that could not be sent, after all tries
	Retries     uint64 // to send
	Relisted    uint64 // requests sent again with the list of members
	Silent      uint64 // services answered for
	LongWaits   uint64 // services that take longer than the root said
	Destroyed   uint64 // groups whose creator died or rebooted
	Early       uint64 // words of progress of bulk data that came before their request, or after its end
	Displaced   uint64 // groups, by those of others
	NotListed   uint64 // children that were not sent to: addresses of strangers
	Asked       uint64 // nodes, for their incarnation
	Again       uint64 // broadcasts to the live members, sent once more
	PassedOn    uint64 // messages of answers that were passed on for a service
	Lost        uint64 // answers for which there was no room in that
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }
