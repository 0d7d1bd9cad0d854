package collective

import "sync/atomic"

// Stats counts what a [Broadcaster] did and met.
type Stats struct {
	Broadcasts uint64 // of this server
	Unsent     uint64 // of those
	Served     uint64 // requests of others that this server answered
	Unserved   uint64 // that came while nothing answers, as before the start
	Malformed  uint64 // that are no evictions
	Busy       uint64 // for whose answers there was no memory
	Absent     uint64 // that this server could not answer in time
	BadAnswers uint64 // of children
	Memory     uint64 // bytes of buffers now
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
