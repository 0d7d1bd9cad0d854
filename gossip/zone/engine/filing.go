package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// filings records when this node suspected others. If a node refutes each suspicion, this node
// suspects it at longer and longer intervals (MS-A2). At constant intervals, a link that works in one
// direction only would cause a suspicion in the whole zone every few seconds.
type filings map[wire.Ref]filing

type filing struct {
	inc     uint64        // incarnation of the suspect when this node last suspected it
	until   time.Duration // before this time no new suspicion is filed
	backoff time.Duration
}

// early reports whether a suspicion of the same incarnation was filed so recently that another
// one must wait.
func (f filings) early(now time.Duration, p wire.Ref, inc uint64) bool {
	last, ok := f[p]
	return ok && last.inc == inc && now < last.until
}

// note records a suspicion, and doubles the back-off before the next. If there was none for a long
// time, the back-off begins anew.
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
