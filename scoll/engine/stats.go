package engine

// Stats are the counters of a [Machine].
type Stats struct {
	Requests    uint64 // requests of other nodes that were accepted
	Broadcasts  uint64 // broadcasts that this node sent
	Malformed   uint64 // messages that cannot be answered
	Protocol    uint64 // messages of another version, or with contradictory contents
	Spoofed     uint64 // requests that did not come from the parent, or that name this node as root
	Replayed    uint64 // duplicate requests, dropped
	NoService   uint64 // requests refused: the service is not registered, or does not map groups
	NoGroup     uint64 // requests refused because their group is unknown or has ended
	Stale       uint64 // requests refused because their membership differs
	Unsigned    uint64 // messages without a valid signature where there are keys, or signed where there are none
	Rebooted    uint64 // requests refused because their root has restarted since
	Ahead       uint64 // requests refused: an incarnation far above the wall clock
	Busy        uint64 // requests refused because a limit was reached
	Held        uint64 // requests of other nodes that waited for an admission slot
	HeldTooLong uint64 // held requests that were refused with EMAXACTIVE
	Waited      uint64 // broadcasts of this node that waited because too many were under way, see pace.go
	Slowed      uint64 // decreases of the congestion window (pace) because members held broadcasts
	Rejected    uint64 // requests that the service refused
	Late        uint64 // replies and inputs for requests that have ended
	Stray       uint64 // replies from nodes that had not been asked
	BadReply    uint64 // replies that are malformed or contradictory
	Oversized   uint64 // replies larger than their buffer
	TimedOut    uint64 // children given up after their timeout
	Died        uint64 // children given up because discovery reported them dead
	Unsent      uint64 // messages given up after all tries to send them
	// OtherProcess counts messages of processes with another PID than the members have, which are dropped. The machine
	// leaves it 0; the agent counts.
	OtherProcess uint64
	// RefusalsUnsent counts answers to refused requests that did not leave: the node was unreachable, or too many such
	// answers waited for it, or for many nodes, to read them. The machine leaves it 0; the agent counts.
	RefusalsUnsent uint64
	Retries        uint64 // repeated attempts to send a message
	Relisted       uint64 // requests sent again with the list of members
	Silent         uint64 // requests that the module answered because the service did not, shortly before the parent's timeout
	LongWaits      uint64 // services that announced a longer timeout than the root's
	Destroyed      uint64 // groups whose creator has died or rebooted
	Early          uint64 // Progress messages that arrived before their request, or after its end
	Displaced      uint64 // groups that the cache evicted to make room for others
	NotListed      uint64 // children to which nothing was sent: addresses of strangers, beyond the limit
	Asked          uint64 // nodes that were asked for their incarnation number
	Again          uint64 // further attempts of broadcasts, to the live members
	PassedOn       uint64 // messages of answers that the module passed on in place of a service
	Lost           uint64 // answers that were lost because they did not fit when passed on
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }
