package router

import "time"

const (
	// FillTime is how long the payload of a message may take to arrive once others wait for a buffer. It is less than
	// half of the time after which drivers and LNet give up a message by default (49 s and 50 s), so that those that
	// wait are not given up; local policy.
	FillTime = 20 * time.Second
	// slowTime is how long a neighbour counts as a slow sender; local policy.
	slowTime = 30 * FillTime
)

// slowPart is the part of the free buffers of a class that slow senders have together, as a divisor: they hold a quarter
// of all at most. What they hold for one next hop is then no more than half of what that may have, see Ledger.hasShare.
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

func (l *Ledger) isSlow(n *Neighbour) bool { return l.now < n.slowEnd }

// countSlow counts the buffer of a ticket as one of slow senders.
func (l *Ledger) countSlow(t *Ticket) {
	if !t.slow {
		t.slow = true
		l.slow[t.class].add(t, 1)
	}
}

// hasSlowShare reports whether the sender of t may have another buffer: it is no slow sender, or slow senders hold less
// than a third of the buffers that are free, or none.
func (l *Ledger) hasSlowShare(t *Ticket) bool {
	r, s := &l.rooms[t.class], &l.slow[t.class]
	if !l.isSlow(t.from) || s.held == 0 {
		return true
	}
	return slowPart*s.held < r.buffers-r.used && (t.class != largeBuffer || slowPart*(s.taken+t.memory) <= r.bytes-r.taken)
}

// noteFilling stamps each message whose payload arrives while others wait for a buffer of its class, unless an earlier
// call has.
func (l *Ledger) noteFilling() {
	for c := range l.filling {
		if l.rooms[c].waiting == 0 {
			continue
		}
		for t := l.filling[c].tail; t != nil && t.since == 0; t = t.prev {
			t.since = max(l.now, 1)
		}
	}
}

// Late returns a message whose payload has not arrived within FillTime although others wait for a buffer of its class;
// nil if there is none. Its sender counts as a slow one for slowTime. The caller ends the connections of the sender,
// and then calls End for each of its messages that arrive. Late returns one message of each sender.
func (l *Ledger) Late() *Ticket {
	for c := range l.filling {
		for t := l.filling[c].head; t != nil && l.rooms[c].waiting > 0 && t.since != 0 && l.now-t.since >= FillTime; t = l.filling[c].head {
			l.filling[c].remove(t)
			l.countSlow(t)
			told := t.from.slowEnd == l.now+slowTime
			t.from.slowEnd = l.now + slowTime
			if !told {
				return t
			}
		}
	}
	return nil
}

// endFilling takes a ticket off the list of those whose payload arrives, if it is there.
func (l *Ledger) endFilling(t *Ticket) {
	if t.in == &l.filling[t.class] {
		t.in.remove(t)
	}
}
