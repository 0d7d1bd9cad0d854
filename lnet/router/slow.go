package router

import "time"

const (
	// FillTime is how long a message may keep its buffer from others while its payload arrives. It is less than half of
	// the time after which drivers and LNet give up a message by default (49 s and 50 s), so that those that wait are
	// not given up; local policy.
	FillTime = 20 * time.Second
	// fairTime is the part of FillTime for which the sender of a message is not charged. Payloads that fill the default
	// memory, and arrive all at once on a link of 1 Gbit/s, take no longer; local policy.
	fairTime = FillTime / 10
	// slowTime is the time in which a neighbour pays off a debt of FillTime; local policy.
	slowTime = 30 * FillTime
)

// slowPart bounds how many buffers of a class all slow senders hold together. A slow sender gets another buffer only
// while slow senders hold fewer than 1/slowPart of the number of free buffers. So slow senders hold at most a quarter
// of all buffers. One next hop may have up to half of all buffers (see Ledger.hasHopShare), so that slow senders cannot
// take more than half of what it may have.
const slowPart = 3

// slowShare is what the messages of slow senders use in a class of buffers.
type slowShare struct {
	held  int // number of buffers
	taken int // bytes
}

// add adds sign, which is 1 or -1, times the buffer of a ticket.
func (s *slowShare) add(t *Ticket, sign int) {
	s.held += sign
	s.taken += sign * t.memory
}

// charge adds to the debt of a neighbour, which is the time for which its messages have kept buffers from others. The
// bucket leaks (a leaky bucket as a meter): a debt of FillTime is paid off in slowTime. It is no larger than twice
// FillTime, so that the neighbour is slow for no longer than slowTime after its last charge.
func (l *Ledger) charge(n *Neighbour, kept time.Duration) {
	n.paidOff = min(max(n.paidOff, l.now)+slowTime/FillTime*kept, l.now+2*slowTime)
}

// isSlow reports whether the debt of n is more than FillTime.
func (l *Ledger) isSlow(n *Neighbour) bool { return n.paidOff > l.now+slowTime }

// InDebt reports whether n has not paid off yet the time for which its messages have kept buffers from others. The
// caller must not forget the account before that.
func (n *Neighbour) InDebt(now time.Duration) bool { return n.paidOff > now }

// countSlow counts the buffer of a ticket as one of slow senders.
func (l *Ledger) countSlow(t *Ticket) {
	if !t.slow {
		t.slow = true
		l.slow[t.class].add(t, 1)
	}
}

// hasSlowShare reports whether the sender of t may have another buffer: the sender is not slow, or all slow senders
// together hold no buffer, or fewer than 1/slowPart of the number of free buffers.
func (l *Ledger) hasSlowShare(t *Ticket) bool {
	r, s := &l.rooms[t.class], &l.slow[t.class]
	if !l.isSlow(t.from) || s.held == 0 {
		return true
	}
	return slowPart*s.held < r.buffers-r.used && (t.class != largeBuffer || slowPart*(s.taken+t.memory) <= r.bytes-r.taken)
}
