package analyze

import (
	"cmp"
	"container/list"
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

	next    *entry        // next entry of the same key without an answer
	element *list.Element // where the entry is in the list of open or answered entries
}

// asked is what a copy or resend of a message has in common with it, besides the key.
type asked struct {
	portal uint32
	bits   uint64
	length uint32
}

// waiting are the entries of one key.
type waiting struct {
	first, last *entry // oldest and latest entry without an answer; nil if there is none
	answered    *entry // latest entry with an answer; nil if there is none
}

// latest returns the newest of the entries: one without an answer if there is any; nil if there is no
// entry.
func (w waiting) latest() *entry { return cmp.Or(w.last, w.answered) }

// table has the operations that wait for an answer, and the most recently answered ones.
type table struct {
	byKey          map[key]waiting // keys that have entries
	open, answered list.List       // lists of *entry, in the order of their arrival and of their answers
}

// add adds an operation without an answer.
func (t *table) add(e *entry) {
	w := t.byKey[e.key]
	if w.last == nil {
		w.first = e
	} else {
		w.last.next = e
	}
	w.last = e
	t.byKey[e.key] = w
	e.element = t.open.PushBack(e)
}

// answer moves the oldest open entry of a key to the answered entries. Each key has one answered
// entry, the latest.
func (t *table) answer(k key) {
	e := t.takeOldest(k)
	w := t.byKey[k]
	if w.answered != nil {
		t.answered.Remove(w.answered.element)
	}
	w.answered = e
	t.byKey[k] = w
	e.answered, e.element = true, t.answered.PushBack(e)
}

// takeOldest takes the oldest open entry of a key out of the open ones.
func (t *table) takeOldest(k key) *entry {
	w := t.byKey[k]
	e := w.first
	if w.first, e.next = e.next, nil; w.first == nil {
		w.last = nil
	}
	t.put(k, w)
	t.open.Remove(e.element)
	return e
}

// put stores the entries of a key, or removes the key if it has no entries.
func (t *table) put(k key, w waiting) {
	if w == (waiting{}) {
		delete(t.byKey, k)
	} else {
		t.byKey[k] = w
	}
}

// forgetOpen gives up the open operation that has waited longest. It is also the oldest of its key, so
// takeOldest takes it.
func (t *table) forgetOpen() *entry { return t.takeOldest(t.open.Front().Value.(*entry).key) }

// forgetAnswered gives up the operation that was answered before all others.
func (t *table) forgetAnswered() {
	e := t.answered.Remove(t.answered.Front()).(*entry)
	w := t.byKey[e.key]
	w.answered = nil
	t.put(e.key, w)
}
