package router

// list is a queue of tickets, linked by Ticket.next and prev, so that any ticket can be
// removed. A ticket is in one list at most.
type list struct {
	head, tail *Ticket
	n          int
}

func (l *list) push(t *Ticket) {
	t.in, t.prev, t.next = l, l.tail, nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.n++
}

func (l *list) remove(t *Ticket) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.in, t.prev, t.next = nil, nil, nil
	l.n--
}

func (l *list) pop() *Ticket {
	t := l.head
	if t != nil {
		l.remove(t)
	}
	return t
}

// ring is the neighbours that wait for a buffer of one class, in the order of their turns. A
// neighbour whose messages are gone when its turn comes is skipped.
type ring struct {
	class      bufferClass
	head, tail *Neighbour
	cursor     *Neighbour // the last neighbour at which a scan has looked; see Ledger.scan. Nil: none
}

func (r *ring) push(n *Neighbour) {
	w := &n.wants[r.class]
	if w.inRing {
		return
	}
	w.inRing = true
	if r.tail == nil {
		r.head = n
	} else {
		r.tail.wants[r.class].after = n
	}
	r.tail = n
}

func (r *ring) pop() *Neighbour {
	n := r.head
	if n == nil {
		return nil
	}
	if r.cursor == n {
		r.cursor = nil
	}
	w := &n.wants[r.class]
	r.head, w.after, w.inRing = w.after, nil, false
	if r.head == nil {
		r.tail = nil
	}
	return n
}

// remove takes n off the ring. prev is the neighbour before n; nil: n is the first one.
func (r *ring) remove(prev, n *Neighbour) {
	if r.cursor == n {
		r.cursor = prev
	}
	w := &n.wants[r.class]
	if prev == nil {
		r.head = w.after
	} else {
		prev.wants[r.class].after = w.after
	}
	if r.tail == n {
		r.tail = prev
	}
	w.after, w.inRing = nil, false
}
