package router

import "fmt"

// invariants checks that the sums of l agree with all tickets.
func (l *Ledger) invariants(neighbours []*Neighbour, tickets []*Ticket) error {
	var rooms [bufferClasses]room
	used, extra, early := map[*Neighbour]int{}, map[*Neighbour]int{}, map[*Neighbour]int{} // early: extra credits of messages that have not departed
	held := map[*Neighbour]*[bufferClasses]int{}
	for _, n := range neighbours {
		held[n] = new([bufferClasses]int)
	}
	var slow [bufferClasses]slowShare
	var filling [bufferClasses]int
	live, waiting := 0, 0
	for _, t := range tickets {
		if t.from == nil {
			continue
		}
		live++
		switch {
		case t.granted:
			rooms[t.class].used++
			rooms[t.class].taken += t.memory
			held[t.to][t.class]++
			if t.slow {
				slow[t.class].add(t, 1)
			}
			if t.in == &l.filling[t.class] {
				filling[t.class]++
			}
			if t.extra {
				extra[t.from]++
			} else {
				used[t.from]++
			}
			if t.extra && t.in != &t.to.out {
				early[t.from]++
			}
		case t.in == &l.settled:
		default:
			waiting++
			if t.in != &t.from.waiting {
				used[t.from]++
				rooms[t.class].waiting++
			}
		}
	}
	if live != l.tickets || waiting != l.waiting {
		return fmt.Errorf("%d tickets and %d wait, of %d and %d", l.tickets, l.waiting, live, waiting)
	}
	for c := range bufferClasses {
		r, want := l.rooms[c], rooms[c]
		if r.used != want.used || r.taken != want.taken || r.waiting != want.waiting {
			return fmt.Errorf("%v: have %+v, want %+v", c, r, want)
		}
		if l.slow[c] != slow[c] || l.filling[c].n != filling[c] {
			return fmt.Errorf("%v: slow senders have %+v, and %d arrive; want %+v, %d", c, l.slow[c], l.filling[c].n, slow[c], filling[c])
		}
		if at := l.rings[c].cursor; at != nil && !at.wants[c].inRing {
			return fmt.Errorf("%v: a scan would go on behind a neighbour that waits no more", c)
		}
	}
	for i, n := range neighbours {
		if n.used != used[n] || n.extra != extra[n] || n.held != *held[n] {
			return fmt.Errorf("neighbour %d has %d + %d credits in use and %v buffers, not %d + %d and %v", i, n.used, n.extra, n.held, used[n], extra[n], *held[n])
		}
		if n.used > n.limit || early[n] > n.limit {
			return fmt.Errorf("neighbour %d has %d of %d credits, and %d extra ones of messages that have not departed", i, n.used, n.limit, early[n])
		}
	}
	return nil
}

// bounds checks that no more credits and buffers are in use than there are.
func (l *Ledger) bounds() error {
	for c := range bufferClasses {
		if r := l.rooms[c]; r.used > r.buffers || r.taken > r.bytes {
			return fmt.Errorf("%v: %+v", c, r)
		}
	}
	return nil
}

// served checks that no message waits for a buffer to which it is entitled. That holds after each Check.
func (l *Ledger) served() error {
	for c := range bufferClasses {
		reserved := l.reserved(c)
		for n := l.rings[c].head; n != nil && !reserved; n = n.wants[c].after {
			t := n.wants[c].list.head
			if t != nil && l.fits(t) {
				return fmt.Errorf("%v: a message waits beside %+v", c, l.rooms[c])
			}
			reserved = t != nil && !l.hasRoom(t) && l.hasSlowShare(t)
		}
	}
	return nil
}

// idle checks that all credits and buffers were returned.
func (l *Ledger) idle(neighbours []*Neighbour) error {
	for c := range bufferClasses {
		if r := l.rooms[c]; r.used != 0 || r.taken != 0 || r.waiting != 0 {
			return fmt.Errorf("%v: %+v", c, r)
		}
	}
	for i, n := range neighbours {
		if !n.Idle() || n.out.n != 0 || n.stalled {
			return fmt.Errorf("neighbour %d: %+v", i, n)
		}
	}
	if l.tickets != 0 || len(l.busy) != 0 || l.settled.n != 0 || l.late.n != 0 {
		return fmt.Errorf("%d tickets, %d busy", l.tickets, len(l.busy))
	}
	return nil
}
