package router

import "time"

// lack counts the neighbours that have to wait because there is no room, or because their next hop has its share. Slow
// senders do not count.
type lack struct {
	senders int
	round   uint64 // number of the count that found these senders; if that is not the latest one (Ledger.round), none waits any more
}

func (k *lack) add(round uint64) {
	if k.round != round {
		*k = lack{round: round}
	}
	k.senders++
}

// lackOf looks at the first of the messages of n that wait for a buffer of a class. It returns the lack because of
// which that message waits: room if there is no buffer or memory left, the lack of its next hop if the next hop has
// its share of buffers, nil otherwise.
func (l *Ledger) lackOf(n *Neighbour, class bufferClass, room *lack) *lack {
	t := n.wants[class].list.head
	switch {
	case t == nil || l.isSlow(n):
		return nil
	case !l.hasRoom(t):
		return room
	case !l.hasHopShare(t):
		return &t.to.lack
	}
	return nil
}

// noteKept adds the time since the last Check to the field kept of each message whose payload arrives and that keeps its
// buffer from others now: neighbours wait for room, or for the share of its next hop. A message with FillTime in kept is
// late. While messages wait, each call looks at all of these neighbours and messages; a router calls it four times a second.
func (l *Ledger) noteKept(elapsed time.Duration) {
	for c := range bufferClasses {
		if l.rooms[c].waiting == 0 || l.filling[c].n == 0 {
			continue
		}
		l.round++
		room := lack{round: l.round}
		for n := l.rings[c].head; n != nil; n = n.wants[c].after {
			if k := l.lackOf(n, c, &room); k != nil {
				k.add(l.round)
			}
		}
		for t, next := l.filling[c].head, (*Ticket)(nil); t != nil; t = next {
			next = t.next
			if l.keeps(t, &room) {
				l.addKept(t, elapsed)
			}
		}
	}
}

// keeps reports whether t keeps its buffer from a neighbour other than its sender.
func (l *Ledger) keeps(t *Ticket, room *lack) bool {
	own := l.lackOf(t.from, t.class, room)
	for _, k := range [...]*lack{room, &t.to.lack} {
		if k.round == l.round && (k.senders > 1 || k.senders == 1 && k != own) {
			return true
		}
	}
	return false
}

// addKept adds to the time for which t has kept its buffer from others.
func (l *Ledger) addKept(t *Ticket, elapsed time.Duration) {
	t.kept += elapsed
	if t.kept >= FillTime {
		t.in.remove(t)
		l.late.push(t)
	}
}

// Late returns a message that has kept its buffer from others for FillTime, because its payload has not arrived; nil if
// there is none. Its sender is slow for slowTime. The caller ends the connections of the sender, and then calls End for
// each of its messages that arrive. Late returns one message of each sender.
func (l *Ledger) Late() *Ticket {
	for t := l.late.pop(); t != nil; t = l.late.pop() {
		l.charge(t.from, 2*FillTime)
		l.countSlow(t)
		if t.from.lateAt != l.now {
			t.from.lateAt = l.now
			return t
		}
	}
	return nil
}

// endFilling notes that the payload of a message arrives no longer, and charges its sender for the time for which the
// message has kept its buffer from others.
func (l *Ledger) endFilling(t *Ticket) {
	if t.in != &l.filling[t.class] {
		return
	}
	t.in.remove(t)
	if t.kept > fairTime {
		l.charge(t.from, t.kept-fairTime)
	}
}
