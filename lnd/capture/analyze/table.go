package analyze

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Kind says what an operation is made of.
type Kind uint8

// The kinds of operations.
const (
	PutAck       Kind = iota // a PUT that asks for an ACK, and the ACK
	GetReply                 // a GET and its REPLY
	RequestReply             // a PUT that is a request of a service, and the PUT that is its reply

	kinds
)

var kindNames = [kinds]string{"put-ack", "get-reply", "request-reply"}

// String returns "put-ack", "get-reply" or "request-reply".
func (k Kind) String() string { return kindNames[k] }

// MarshalText returns String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// key is what an answer has in common with the message that asks for it.
type key struct {
	kind      Kind
	service   uint16        // index in Config.Services
	requester nid.NID       // set for a request of a service
	handle    wire.MDHandle // set for a PUT that asks for an ACK, and for a GET
	number    uint64        // match bits of a PUT, number of a request
}

// entry is an operation in the table.
type entry struct {
	key
	asked    asked
	at       time.Duration
	frame    uint64
	conn     int
	from, to nid.NID
	side     side
	answered bool
	copied   bool // the same message was seen before on this connection
	resent   uint32
	byKind   *tally
	byPair   *tally

	next          int32 // next entry of the same key without an answer; the value none if this is the last
	before, after int32 // neighbours in the list of open or answered entries
}

// asked is what a copy or resend of a message has in common with it, besides the key.
type asked struct {
	portal uint32
	bits   uint64
	length uint32
}

const none = -1

// queue has entries in the order of their arrival, by their indexes.
type queue struct {
	first, last int32
	n           int
}

// waiting are the entries of one key.
type waiting struct {
	first, last int32 // oldest and latest entry without an answer; the value none if there is no such entry
	answered    int32 // latest entry with an answer; the value none if there is no such entry
}

// table has the operations that wait for an answer, and the most recently answered ones. It reuses the memory
// of entries that it removed.
type table struct {
	entries  []entry
	free     []int32
	byKey    map[key]waiting
	open     queue
	answered queue
}

func newTable() table {
	return table{byKey: map[key]waiting{}, open: queue{none, none, 0}, answered: queue{none, none, 0}}
}

// find returns the entries of a key.
func (t *table) find(k key) waiting {
	if w, ok := t.byKey[k]; ok {
		return w
	}
	return waiting{none, none, none}
}

// latest returns the newest of the entries in w: one without an answer if there is any; nil if w has no
// entry.
func (t *table) latest(w waiting) *entry {
	switch {
	case w.last != none:
		return &t.entries[w.last]
	case w.answered != none:
		return &t.entries[w.answered]
	}
	return nil
}

// add adds an operation without an answer. The pointer is valid until the next call.
func (t *table) add(e entry) {
	i := t.slot()
	e.next = none
	t.entries[i] = e
	w := t.find(e.key)
	if w.last == none {
		w.first = i
	} else {
		t.entries[w.last].next = i
	}
	w.last = i
	t.byKey[e.key] = w
	t.push(&t.open, i)
}

func (t *table) slot() int32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		return i
	}
	t.entries = append(t.entries, entry{})
	return int32(len(t.entries) - 1)
}

// answer moves the oldest open entry of a key to the answered entries. Each key has one answered
// entry, the latest.
func (t *table) answer(k key) {
	i := t.takeOldest(k)
	if old := t.find(k).answered; old != none {
		t.release(&t.answered, old)
	}
	w := t.find(k)
	w.answered = i
	t.byKey[k] = w
	t.entries[i].answered = true
	t.push(&t.answered, i)
}

// takeOldest takes the oldest open entry of a key out of the open ones.
func (t *table) takeOldest(k key) int32 {
	w := t.find(k)
	i := w.first
	if w.first = t.entries[i].next; w.first == none {
		w.last = none
	}
	t.put(k, w)
	t.remove(&t.open, i)
	return i
}

// put stores the entries of a key, or removes the key if it has no entries.
func (t *table) put(k key, w waiting) {
	if w == (waiting{none, none, none}) {
		delete(t.byKey, k)
	} else {
		t.byKey[k] = w
	}
}

// forgetOpen gives up the open operation that has waited longest. It is also the oldest of its key, so
// takeOldest takes it.
func (t *table) forgetOpen() entry {
	i := t.takeOldest(t.entries[t.open.first].key)
	t.free = append(t.free, i)
	return t.entries[i]
}

// forgetAnswered gives up the operation that was answered before all others.
func (t *table) forgetAnswered() {
	i := t.answered.first
	k := t.entries[i].key
	w := t.find(k)
	w.answered = none
	t.put(k, w)
	t.release(&t.answered, i)
}

func (t *table) release(q *queue, i int32) {
	t.remove(q, i)
	t.free = append(t.free, i)
}

func (t *table) push(q *queue, i int32) {
	e := &t.entries[i]
	e.before, e.after = q.last, none
	if q.last == none {
		q.first = i
	} else {
		t.entries[q.last].after = i
	}
	q.last = i
	q.n++
}

func (t *table) remove(q *queue, i int32) {
	e := &t.entries[i]
	if e.before == none {
		q.first = e.after
	} else {
		t.entries[e.before].after = e.after
	}
	if e.after == none {
		q.last = e.before
	} else {
		t.entries[e.after].before = e.before
	}
	q.n--
}
