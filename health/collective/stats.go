package collective

import "sync/atomic"

// Stats has the counters of a [Broadcaster].
type Stats struct {
	Broadcasts uint64 // broadcasts that this server started
	Unsent     uint64 // broadcasts of this server that could not be sent
	Served     uint64 // requests of others that this server answered
	Unserved   uint64 // requests that came while no function was set by Serve, as before the agent starts
	Malformed  uint64 // requests that do not parse
	Busy       uint64 // requests that were refused because Config.MaxMemory was reached
	Absent     uint64 // requests whose answer left without this server's own part, which was not ready before the deadline
	BadAnswers uint64 // answers of children that do not parse
	Memory     uint64 // bytes of buffers in use now
}

type counters struct {
	broadcasts, unsent, served, unserved, malformed, busy, absent, badAnswers atomic.Uint64
	memory                                                                    atomic.Int64
}

// Stats returns the counters.
func (b *Broadcaster) Stats() Stats {
	s := &b.stats
	return Stats{
		Broadcasts: s.broadcasts.Load(), Unsent: s.unsent.Load(), Served: s.served.Load(), Unserved: s.unserved.Load(),
		Malformed: s.malformed.Load(), Busy: s.busy.Load(), Absent: s.absent.Load(), BadAnswers: s.badAnswers.Load(), Memory: uint64(s.memory.Load()),
	}
}
