package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// filings keeps when this node suspected others, to do so more and more rarely where
// they refute that each time (MS-A2): a link that works one way would else have all of
// the zone hear of it every few seconds.
type filings map[wire.Ref]filing

type filing struct {
	inc     uint64        // the suspect's incarnation
	until   time.Duration // not again before
	backoff time.Duration
}

// early reports whether a suspicion of the same incarnation was filed too shortly before.
func (f filings) early(now time.Duration, p wire.Ref, inc uint64) bool {
	last, ok := f[p]
	return ok && last.inc == inc && now < last.until
}

// note takes note of a suspicion. After a long time without one it is the first.
func (f *filings) note(m *Machine, p wire.Ref, inc uint64) {
	if *f == nil {
		*f = make(filings)
	}
	last := (*f)[p]
	backoff := m.cfg.Heartbeat
	if last.inc == inc && m.now < last.until+maxBackoff+m.cfg.Timeout {
		backoff = min(2*last.backoff, maxBackoff)
	}
	(*f)[p] = filing{inc, m.now + backoff, backoff}
}
