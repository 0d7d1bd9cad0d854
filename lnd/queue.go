package lnd

// Queue is a list of messages in two classes: priority messages leave before
// all others, each class in the order of arrival. The zero value is empty.
// It links messages through Message.Link, so it allocates nothing and a
// message is in at most one Queue. Not safe for concurrent use.
type Queue struct {
	priority, normal list
	n                int
}

type list struct{ head, tail *Message }

func (l *list) push(m *Message) {
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.Link = m
	}
	l.tail = m
}

func (l *list) pop() *Message {
	m := l.head
	if m == nil {
		return nil
	}
	l.head = m.Link
	if l.head == nil {
		l.tail = nil
	}
	m.Link = nil
	return m
}

// Len returns the number of queued messages.
func (q *Queue) Len() int { return q.n }

// Urgent reports whether the next message is a priority message.
func (q *Queue) Urgent() bool { return q.priority.head != nil }

// First returns the next message, which stays in the queue; nil if there is none.
func (q *Queue) First() *Message {
	if q.Urgent() {
		return q.priority.head
	}
	return q.normal.head
}

// Push appends m to the queue of its class.
func (q *Queue) Push(m *Message) {
	q.n++
	if m.Priority {
		q.priority.push(m)
	} else {
		q.normal.push(m)
	}
}

// Pop removes and returns the next message, nil if there is none.
func (q *Queue) Pop() *Message {
	m := q.priority.pop()
	if m == nil {
		m = q.normal.pop()
	}
	if m != nil {
		q.n--
	}
	return m
}

// Take removes every message for which drop returns true and returns them as
// a list through Link, in order.
func (q *Queue) Take(drop func(*Message) bool) *Message {
	var kept Queue
	var taken list
	for m := q.Pop(); m != nil; m = q.Pop() {
		if drop(m) {
			taken.push(m)
		} else {
			kept.Push(m)
		}
	}
	*q = kept
	return taken.head
}
