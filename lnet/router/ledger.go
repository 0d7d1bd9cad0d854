package router

import (
	"cmp"
	"time"
)

// Outcome says what happens to a message that is to be forwarded.
type Outcome uint8

// Outcomes of a request for a buffer.
const (
	Waits   Outcome = iota // the ticket has to wait; Next returns it later
	Granted                // the ticket has a credit and a buffer
	Refused                // the next hop has stalled, and no extra credit or no buffer is left for it
)

// Ledger has the accounts of a router. The caller gives every granted ticket back with End.
// Ask, End, Cancel, Check, Resize and RefuseAll may grant or refuse tickets that waited: the caller
// then calls Next until there is none. After Check it also calls Late until there is none.
type Ledger struct {
	rooms    [bufferClasses]room
	rings    [bufferClasses]ring
	settled  list                // tickets that no longer wait; Next will return them
	busy     []*Neighbour        // next hops to which messages are under way, in any order
	filling  [bufferClasses]list // granted tickets whose payload arrives, in the order in which they were granted
	late     list                // messages that Late will return
	slow     [bufferClasses]slowShare
	round    uint64        // number of the latest count of neighbours that wait, see lack
	now      time.Duration // latest time that a call has given
	checked  time.Duration // time of the last Check; -1: it has told the caller not to call it again
	memory   int
	stalls   uint64 // number of times that a next hop has stalled
	waiting  int
	tickets  int // number of tickets granted or waiting
	scanning int // largest number of waiting neighbours that one call of End looks at, twice in the worst case; see scanWidth
}

// scanWidth is how many neighbours one call of End looks at, those whose turn is next, and as many
// again if all of these have to wait; see Ledger.scan.
const scanWidth = 256

// New makes a ledger in which all buffers are free.
func New(cfg Config) *Ledger {
	l := &Ledger{scanning: scanWidth, checked: -1}
	for c := range bufferClasses {
		l.rings[c].class = c
	}
	l.Resize(cfg)
	for c := range bufferClasses {
		l.rooms[c].lowest = l.rooms[c].buffers
	}
	return l
}

// Ask asks for what a message needs: a router credit of its sender (from), and a buffer. Its
// next hop is the neighbour given as to.
func (l *Ledger) Ask(t *Ticket, from, to *Neighbour, payload int) Outcome {
	t.from, t.to, t.class, t.memory = from, to, classOf(payload), memoryOf(payload)
	t.granted, t.extra, t.slow, t.kept = false, false, false, 0
	l.tickets++
	outcome := l.ask(t)
	if outcome == Granted {
		l.filling[t.class].push(t)
	}
	return outcome
}

// ask asks for a router credit and a buffer.
func (l *Ledger) ask(t *Ticket) Outcome {
	from := t.from
	if t.to.stalled {
		return l.askExtra(t)
	}
	if from.waiting.n == 0 && from.used < from.limit {
		from.used++
		from.noteLowest()
		return l.askBuffer(t)
	}
	from.waiting.push(t)
	l.waiting++
	from.noteLowest()
	return Waits
}

// askExtra takes an extra credit, which is for messages to stalled next hops. A message that
// gets no credit or no buffer is refused.
func (l *Ledger) askExtra(t *Ticket) Outcome {
	if t.from.extra >= t.from.limit || l.reserved(t.class) || !l.fits(t) {
		l.tickets--
		t.from, t.to = nil, nil
		return Refused
	}
	t.from.extra++
	t.extra = true
	l.grant(t)
	return Granted
}

// askBuffer takes a buffer for a message that has a credit, or lets it wait.
func (l *Ledger) askBuffer(t *Ticket) Outcome {
	w := &t.from.wants[t.class]
	if w.list.n == 0 && !l.reserved(t.class) && l.fits(t) {
		l.grant(t)
		return Granted
	}
	w.list.push(t)
	l.waiting++
	l.rings[t.class].push(t.from)
	r := &l.rooms[t.class]
	r.waiting++
	r.lowest = min(r.lowest, r.credits())
	return Waits
}

// fits reports whether there is a buffer for t, and its next hop may have it.
func (l *Ledger) fits(t *Ticket) bool { return l.hasRoom(t) && l.hasShare(t) }

// hasRoom reports whether there is a buffer for t.
func (l *Ledger) hasRoom(t *Ticket) bool {
	r := &l.rooms[t.class]
	return r.used < r.buffers && r.taken+t.memory <= r.bytes
}

// hasShare reports whether the sender and the next hop of t may have another buffer.
func (l *Ledger) hasShare(t *Ticket) bool { return l.hasSlowShare(t) && l.hasHopShare(t) }

// hasHopShare reports whether the next hop of t may have another buffer: it holds fewer buffers than are free, or none.
func (l *Ledger) hasHopShare(t *Ticket) bool {
	r, to := &l.rooms[t.class], t.to
	if to.held[t.class] == 0 {
		return true
	}
	return to.held[t.class] < r.buffers-r.used && (t.class != largeBuffer || to.taken+t.memory <= r.bytes-r.taken)
}

// reserved reports whether the next free buffers of a class are reserved for a message that
// already waits because there is less memory than it needs. Without a reservation it would wait
// for ever, if smaller messages took all memory that becomes free. Nothing is reserved for a slow sender that has its
// share, see first.
func (l *Ledger) reserved(class bufferClass) bool {
	n := l.first(class)
	if n == nil {
		return false
	}
	t := n.wants[class].list.head
	return !l.hasRoom(t) && l.hasSlowShare(t)
}

// first returns the neighbour whose turn it is to have a buffer, or nil. Slow senders that have their share lose
// their turn: they go to the end of the ring. One call moves at most as many of them as the field scanning says.
func (l *Ledger) first(class bufferClass) *Neighbour {
	ring := &l.rings[class]
	var turned *Neighbour // first slow sender that has lost its turn
	for tries := l.scanning; ring.head != nil && ring.head != turned; {
		n := ring.head
		t := n.wants[class].list.head
		if t != nil && (tries <= 0 || l.hasSlowShare(t)) {
			break
		}
		ring.pop()
		if t != nil {
			ring.push(n)
			tries--
			turned = cmp.Or(turned, n)
		}
	}
	return ring.head
}

func (l *Ledger) grant(t *Ticket) {
	r := &l.rooms[t.class]
	t.granted = true
	r.used++
	r.taken += t.memory
	r.lowest = min(r.lowest, r.credits())
	l.hold(t, t.to, 1)
	if l.isSlow(t.from) {
		l.countSlow(t)
	}
}

// hold adds sign, which is 1 or -1, to the number of buffers with messages for a next hop.
func (l *Ledger) hold(t *Ticket, to *Neighbour, sign int) {
	to.held[t.class] += sign
	if t.class == largeBuffer {
		to.taken += sign * t.memory
	}
}

// noteLowest lowers the field lowest to the present credits, if these are fewer.
func (n *Neighbour) noteLowest() { n.lowest = min(n.lowest, n.limit-n.used-n.waiting.n) }

// Depart notes that t, whose payload has arrived, is under way to its next hop, which may
// differ from the one given to Ask, or from that of an earlier try.
func (l *Ledger) Depart(t *Ticket, to *Neighbour, now time.Duration) {
	l.now = max(l.now, now)
	l.endFilling(t)
	if t.in != nil {
		t.in.remove(t)
		if t.to.out.n == 0 {
			l.rest(t.to)
		}
	}
	if to != t.to {
		l.hold(t, t.to, -1)
		l.hold(t, to, 1)
		t.to = to
	}
	if to.out.n == 0 {
		to.movedAt, to.still, to.index = now, 0, len(l.busy)
		l.busy = append(l.busy, to)
	}
	to.out.push(t)
}

// End ends a ticket that was granted: its message has left or is given up.
func (l *Ledger) End(t *Ticket, now time.Duration) {
	from, to, class := t.from, t.to, t.class
	l.now = max(l.now, now)
	l.endFilling(t)
	if t.in != nil {
		t.in.remove(t)
		to.movedAt, to.still, to.stalled = now, 0, false
		if to.out.n == 0 {
			l.rest(to)
		}
	}
	r := &l.rooms[class]
	r.used--
	r.taken -= t.memory
	l.hold(t, to, -1)
	if t.slow {
		l.slow[class].add(t, -1)
	}
	if t.extra {
		from.extra--
	} else {
		from.used--
	}
	t.granted, t.from, t.to = false, nil, nil
	l.tickets--
	// The scan comes before advance, so that neighbours that wait for a buffer get it before the sender (from)
	// does.
	l.scan(class, l.scanning)
	l.advance(from)
}

// rest removes a next hop from the list of busy ones.
func (l *Ledger) rest(to *Neighbour) {
	last := l.busy[len(l.busy)-1]
	l.busy[to.index], last.index = last, to.index
	l.busy[len(l.busy)-1] = nil
	l.busy = l.busy[:len(l.busy)-1]
	to.stalled = false
}

// Cancel ends the wait of a ticket. It returns false if the ticket does not wait any more,
// because Next has returned it or Ask has granted it.
func (l *Ledger) Cancel(t *Ticket) bool {
	if t.in == nil || t.granted || t.in == &l.settled {
		return false
	}
	from := t.from
	credit := l.unqueue(t)
	t.from, t.to = nil, nil
	l.tickets--
	if credit {
		from.used--
		l.scan(t.class, l.scanning) // memory that was reserved for t can serve other messages now
		l.advance(from)
	}
	return true
}

// unqueue takes a ticket off the list where it waits, and reports whether it has a credit.
func (l *Ledger) unqueue(t *Ticket) (credit bool) {
	credit = t.in != &t.from.waiting
	if credit {
		l.rooms[t.class].waiting--
	}
	t.in.remove(t)
	l.waiting--
	return credit
}

// Next returns a ticket whose wait has ended, and whether it was granted; nil if there is
// none. A refused ticket has ended.
func (l *Ledger) Next() (t *Ticket, granted bool) {
	t = l.settled.pop()
	if t == nil {
		return nil, false
	}
	if !t.granted {
		t.from, t.to = nil, nil
		l.tickets--
		return t, false
	}
	l.filling[t.class].push(t)
	return t, true
}
