package sim

import "math/bits"

// event is one entry of the queue, 16 bytes. It has no sequence number: the
// queue is stable.
type event struct {
	at   int64 // virtual time in ns
	node int32
	what uint32 // the kind in the upper bits, and the node, flight or action below
}

type eventKind uint8

const (
	evTimer  eventKind = iota // the timer of the event's node is due
	evArrive                  // the flight with the index ref arrives at the event's node
	evHop                     // the flight with the index ref reaches the next queue on its way
	evReady                   // the CPU of the node is free again, if its incarnation is still ref
	evAction                  // the function with the index ref, which a user of the network has scheduled, is due
	evStart                   // the node starts for the first time
)

const (
	refBits = 29
	refMask = 1<<refBits - 1
)

func newEvent(at int64, kind eventKind, node NodeID, ref int32) event {
	return event{at: at, node: int32(node), what: uint32(kind)<<refBits | uint32(ref)&refMask}
}

func (e *event) kind() eventKind { return eventKind(e.what >> refBits) }
func (e *event) ref() int32      { return int32(e.what & refMask) }

// queue holds events and yields them in the order of their time, and at the same time in the
// order in which they were pushed. It is a radix heap of digits of 8 bits. An event is in the
// slot of the highest digit in which its time differs from last, so it moves to a lower level
// at most 7 times, and every move keeps the order. The next slot is sorted if it is small, and
// divided otherwise.
//
// No event may be pushed before the time that pop has come to.
type queue struct {
	count int

	near []event // sorted events; those before index head are processed
	head int
	end  int64 // all events before this time are in the slice near

	last   int64 // a time not later than any event in levels
	busy   uint8 // one bit for each level that has events
	levels [8]level
	blocks blocks
}

const (
	digitBits = 8
	nearMin   = 32  // small slots are taken together until there are this many events
	nearMax   = 128 // when near has this many events, the next one divides it
	nearRoom  = 384 // capacity of near
	sortMax   = 64  // slots with more events are divided, not sorted
)

func (q *queue) len() int { return q.count }

func (q *queue) push(e event) {
	q.count++
	if e.at < q.end {
		q.insert(e)
	} else {
		q.put(e)
	}
}

// pop removes and returns the earliest event, unless it is later than until or there is none.
func (q *queue) pop(until int64) (event, bool) {
	if q.head == len(q.near) && !q.refill(until) {
		return event{}, false
	}
	e := q.near[q.head]
	if e.at > until {
		return event{}, false
	}
	q.head++
	q.count--
	return e, true
}

// batch returns the events that will probably come next, right after each refill of near, and nil
// at other times.
func (q *queue) batch() []event {
	if q.head != 1 {
		return nil
	}
	return q.near[1:]
}

// insert adds an event to near.
func (q *queue) insert(e event) {
	if len(q.near)-q.head >= nearMax {
		q.spread()
		q.put(e)
		return
	}
	if len(q.near) == cap(q.near) {
		q.compact()
	}
	i := len(q.near)
	q.near = append(q.near, e)
	for i > q.head && q.near[i-1].at > e.at {
		q.near[i] = q.near[i-1]
		i--
	}
	q.near[i] = e
}

func (q *queue) compact() {
	if cap(q.near) == 0 {
		q.near = make([]event, 0, nearRoom)
		return
	}
	q.near, q.head = q.near[:copy(q.near, q.near[q.head:])], 0
}

// spread moves the events of near into the levels.
func (q *queue) spread() {
	for _, e := range q.near[q.head:] {
		q.put(e)
	}
	q.near, q.head, q.end = q.near[:0], 0, q.last
}

// put adds an event to the levels.
func (q *queue) put(e event) {
	l := uint(bits.Len64(uint64(e.at^q.last)|1)-1) / digitBits
	d := uint8(uint64(e.at) >> (l * digitBits))
	lv := &q.levels[l]
	s := &lv.slots[d]
	if s.room == 0 {
		if s.count == 0 {
			lv.used[d>>6] |= 1 << (d & 63)
			q.busy |= 1 << l
		}
		q.blocks.extend(s)
	}
	q.blocks.at(s.tail).events[blockLen-s.room] = e
	s.room--
	s.count++
}

// refill fills near, which must be empty, from a slot that begins not later than until. It returns
// false if there is no such slot.
func (q *queue) refill(until int64) bool {
	if cap(q.near) == 0 {
		q.compact()
	}
	q.near, q.head = q.near[:0], 0
	for q.busy != 0 {
		l := uint(bits.TrailingZeros8(q.busy))
		lv := &q.levels[l]
		d := lv.first()
		start := q.start(l, d)
		if start > until {
			return false
		}
		q.last = start
		s := &lv.slots[d]
		switch {
		case l == 0 && s.count > blockLen:
			q.near = q.blocks.cut(s, q.near) // events for this instant that are pushed meanwhile join the end of the slot
			q.end = start
			return true
		case l == 0 || s.count <= sortMax:
			q.take(l, d)
			return true
		}
		list := q.remove(l, d)
		for i := list.head; i != 0; {
			b := q.blocks.at(i)
			n := list.len(i)
			for k := range n {
				q.put(b.events[k])
			}
			i = q.blocks.release(i)
		}
	}
	return false
}

// start returns the first instant of a slot.
func (q *queue) start(l uint, d uint8) int64 {
	shift := l * digitBits
	return int64(uint64(q.last)>>shift>>digitBits<<digitBits<<shift | uint64(d)<<shift)
}

// take moves the events of a small slot to near, and then those of further small slots until near has
// nearMin events.
func (q *queue) take(l uint, d uint8) {
	lv := &q.levels[l]
	for {
		sorted := len(q.near)
		list := q.remove(l, d)
		for i := list.head; i != 0; {
			q.near = append(q.near, q.blocks.at(i).events[:list.len(i)]...)
			i = q.blocks.release(i)
		}
		sortEvents(q.near[sorted:])
		q.end = q.start(l, d) + 1<<(l*digitBits)
		if q.end < 0 {
			q.end = never
		}
		if len(q.near) >= nearMin || q.busy&(1<<l) == 0 {
			return
		}
		if d = lv.first(); lv.slots[d].count > sortMax || l == 0 && lv.slots[d].count > blockLen {
			return
		}
	}
}

// sortEvents sorts a few events by time and keeps the order of those at the
// same time.
func sortEvents(s []event) {
	for i := 1; i < len(s); i++ {
		e := s[i]
		k := i
		for k > 0 && s[k-1].at > e.at {
			s[k] = s[k-1]
			k--
		}
		s[k] = e
	}
}

// remove empties a slot and returns its events.
func (q *queue) remove(l uint, d uint8) slot {
	lv := &q.levels[l]
	s := lv.slots[d]
	lv.slots[d] = slot{}
	lv.used[d>>6] &^= 1 << (d & 63)
	if lv.used == [4]uint64{} {
		q.busy &^= 1 << l
	}
	return s
}
