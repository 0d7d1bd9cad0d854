package router

import "time"

// advance gives the free credits of a neighbour to its messages that wait for a credit.
func (l *Ledger) advance(n *Neighbour) {
	for t := n.waiting.head; t != nil; t = n.waiting.head {
		if !t.to.stalled && n.used >= n.limit {
			return
		}
		l.unqueue(t)
		switch {
		case !t.to.stalled:
			n.used++
			if l.askBuffer(t) == Granted {
				l.settled.push(t)
			}
		case n.extra < n.limit && !l.reserved(t.class) && l.fits(t):
			n.extra++
			t.extra = true
			l.grant(t)
			l.settled.push(t)
		default:
			l.settled.push(t) // the ticket has no credit, so Next returns it as refused
		}
	}
}

// scan gives buffers of a class to the neighbours that wait for one, in turn. It looks at as many of them as
// tries says. If all of these have to wait, it looks at as many others, beginning where the last such scan
// has ended: behind many messages to one next hop that has its full share there may be messages to other next
// hops.
func (l *Ledger) scan(class bufferClass, tries int) {
	last := l.look(nil, class, tries)
	if last == nil {
		return
	}
	ring := &l.rings[class]
	if ring.cursor != nil {
		last = ring.cursor
	}
	ring.cursor = l.look(last, class, tries)
}

// look gives buffers to some of the neighbours behind prev, or to the first ones. A message whose next hop has its full
// share of buffers keeps its position, and one whose next hop has stalled is refused. It returns the last neighbour
// that it looked at, if others follow and nothing has changed; otherwise nil.
func (l *Ledger) look(prev *Neighbour, class bufferClass, tries int) (last *Neighbour) {
	ring := &l.rings[class]
	settled := l.settled.n
	var n *Neighbour
	if prev == nil {
		n = l.first(class)
	} else {
		n = prev.wants[class].after
	}
	for ; n != nil && tries > 0; tries-- {
		t, next := n.wants[class].list.head, n.wants[class].after
		switch room := t != nil && l.hasRoom(t); {
		case t == nil:
			ring.remove(prev, n)
		case room && l.hasShare(t):
			ring.remove(prev, n)
			l.unqueue(t)
			l.grant(t)
			l.settled.push(t)
			if n.wants[class].list.n > 0 {
				ring.push(n)
			}
			if next == nil {
				next = l.after(prev, class)
			}
		case t.to.stalled:
			ring.remove(prev, n)
			l.unqueue(t)
			n.used--
			l.settled.push(t)
			if n.wants[class].list.n > 0 {
				ring.push(n)
			}
			l.advance(n)
			prev, next = nil, l.first(class)
		case !room && l.hasSlowShare(t):
			return nil // the next free buffers are for the message of n
		default:
			prev = n // n keeps its position in the ring
		}
		n = next
	}
	if n == nil || l.settled.n != settled {
		return nil
	}
	return prev
}

// after returns the neighbour behind prev, or the first one.
func (l *Ledger) after(prev *Neighbour, class bufferClass) *Neighbour {
	if prev == nil {
		return l.rings[class].head
	}
	return prev.wants[class].after
}

// Check finds the next hops that have stalled, and the slow senders, whose messages Late then returns. When a message
// begins to wait for a credit or a buffer, or is sent to its next hop (Depart), the caller begins to call Check about
// every StallTime/4. It goes on until Check returns false.
func (l *Ledger) Check(now time.Duration) (again bool) {
	l.now = max(l.now, now)
	if l.checked >= 0 {
		// More time than that has passed if the process was suspended. Then no payload could arrive.
		l.noteKept(min(now-l.checked, StallTime))
	}
	l.findStalled(now)
	for c := range bufferClasses {
		// Since the last call, waiting messages may have become entitled to a buffer: their next hop has stalled, or a
		// message left for another next hop than planned, or their sender has paid off its debt.
		l.scan(c, l.waiting+1)
	}
	again = len(l.busy) > 0 || l.waiting > 0
	l.checked = -1
	if again {
		l.checked = now
	}
	return again
}

// findStalled finds the next hops for which nothing has left in StallTime, and gives the router credits of the messages
// under way to them back. At most StallTime/4 of the time since the last Check counts: if more has passed, the process
// was suspended or had no processor, and could not notice that messages left.
func (l *Ledger) findStalled(now time.Duration) {
	for _, to := range l.busy {
		to.still += min(now-max(to.movedAt, l.checked), StallTime/4)
		if to.still < StallTime {
			continue
		}
		if !to.stalled {
			to.stalled = true
			l.stalls++
		}
		l.moveCredits(to)
	}
}

// moveCredits gives the router credits of all messages under way to a stalled next hop back to their senders. Each such
// message takes an extra credit instead, even if its sender has none left: several next hops may stall, one of them
// several times, and must not take all router credits of the sender together. These messages have their buffers
// already, whose number the shares of next hops bound. Each Check calls it anew, because a message whose payload was still
// arriving when the next hop stalled departs later.
func (l *Ledger) moveCredits(to *Neighbour) {
	for t := to.out.head; t != nil; t = t.next {
		if !t.extra {
			t.extra = true
			t.from.extra++
			t.from.used--
		}
	}
	for t := to.out.head; t != nil; t = t.next {
		l.advance(t.from)
	}
}

// Resize changes the number of buffers and the memory. Buffers in use stay in use.
func (l *Ledger) Resize(cfg Config) {
	cfg = cfg.WithDefaults()
	l.memory = cfg.Memory
	for c, room := range cfg.rooms() {
		r := &l.rooms[c]
		r.buffers, r.bytes = room.buffers, room.bytes
		r.lowest = min(r.lowest, r.credits())
		l.scan(bufferClass(c), l.waiting+1)
	}
}

// RefuseAll refuses every message of these senders that waits for a credit or a buffer, and returns
// how many it has refused. A router that stops calls it.
func (l *Ledger) RefuseAll(senders []*Neighbour) (refused int) {
	for _, n := range senders {
		for t := n.waiting.head; t != nil; t = n.waiting.head {
			l.unqueue(t)
			l.settled.push(t)
			refused++
		}
		for c := range n.wants {
			for t := n.wants[c].list.head; t != nil; t = n.wants[c].list.head {
				l.unqueue(t)
				n.used--
				l.settled.push(t)
				refused++
			}
		}
	}
	for c := range bufferClasses {
		l.scan(c, l.waiting+1) // memory that was reserved for a refused message can serve other messages now
	}
	return refused
}
