package o2iblnd

import (
	"sync"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// txPhase is a tx's state on its connection.
type txPhase uint8

const (
	phaseQueued  txPhase = iota // the message of the tx waits to be posted
	phaseWaiting                // the tx waits for the peer's answer
	phaseWriting                // the RDMA WRITEs of the tx are being posted
	phaseReply                  // a GET_REQ of the peer: it waits for lnet's REPLY
	phaseLast                   // nothing more to post: it waits for completions alone
)

// String says what a tx in this phase waits for.
func (p txPhase) String() string {
	return [...]string{"credits or its turn", "the peer's answer", "its WRITEs", "lnet's REPLY", "completions"}[p]
}

// tx is something under way with the peer (struct kib_tx): an LNet message of this
// side, or an answer to one of the peer's.
//
//	kind        phases
//	IMMEDIATE   queued, last
//	PUT_REQ     queued, waiting, after PUT_NAK last, after PUT_ACK as PUT_DONE
//	PUT_DONE    writing, queued, last
//	PUT_ACK     queued, waiting, last
//	PUT_NAK     queued, last
//	GET_REQ     queued, waiting, last
//	GET_DONE    reply, writing, queued, last
//
// It ends in phase last with no work request posted.
type tx struct {
	kind     kib.MsgType
	phase    txPhase
	priority bool
	waited   bool         // waited for a connection, and is counted in NI.waiting
	answers  bool         // answers a GET_REQ, and is counted in exchange.answering
	msg      *lnd.Message // message to finalize; nil for answers other than GET_DONE
	rx       *rx          // for a PUT_ACK: the delivery that gets the data
	mr       verbs.MR     // the memory of msg or rx; nil if none is registered
	pieces   [][]byte     // pieces of memory that mr registers
	err      error        // error with which the tx ended; nil: none

	slot      uint32 // index in exchange.slots, and ID of its work requests
	posted    int    // number of signaled work requests that are not completed
	deadline  time.Duration
	postponed time.Duration // by how much absences have moved the deadline

	handle    wire.MDHandle // for a GET_DONE: MD that the REPLY is for
	asker     nid.NID       // for a GET_DONE: node that sent the GET
	cookie    uint64        // cookie of a request of this side, which the peer repeats in its answer; or the cookie of the peer's request
	dstCookie uint64        // for a PUT_ACK: cookie that this side chose
	status    int32         // status to send; for a GET_REQ: status that the peer has sent

	// key and frags are the memory of this side that the peer writes to (PUT_ACK,
	// GET_REQ), or that of the peer (PUT_DONE, GET_DONE). total is the sum of the frags.
	key   uint32
	frags []verbs.Frag
	total int

	// These fields say what is left to be written.
	src     cursor
	left    int
	frag    int    // index in frags of the next fragment
	fragOff uint32 // offset in the next fragment, in bytes

	next          *tx // next tx in a txQueue
	after, before *tx // neighbors in the list of all messages in progress
	listed        bool
}

var txs = sync.Pool{New: func() any { return new(tx) }}

func newTx() *tx { return txs.Get().(*tx) }

// release puts t into the pool txs. Nothing may refer to t any more.
func (t *tx) release() {
	t.reset()
	txs.Put(t)
}

// reset empties t for its next use; the memory of its lists stays.
func (t *tx) reset() { *t = tx{frags: t.frags[:0], pieces: t.pieces[:0]} }

// cursor is a position in segments of memory.
type cursor struct {
	segments [][]byte
	skip     int // bytes of segments[0] that come before the position
}

func newCursor(p lnd.Payload) cursor { return cursor{p.Segments, p.Offset} }

// next returns the next piece of memory, of at most n bytes, and steps over it; nil at
// the end.
func (c *cursor) next(n int) []byte {
	for len(c.segments) > 0 {
		s := c.segments[0]
		if c.skip < len(s) {
			s = s[c.skip:min(len(s), c.skip+n)]
			c.skip += len(s)
			return s
		}
		c.skip -= len(s)
		c.segments = c.segments[1:]
	}
	return nil
}

// back moves the position back by n bytes, which were returned by the last call of next.
func (c *cursor) back(n int) { c.skip -= n }

// take appends up to n bytes to list, in no more pieces than most says, and steps over them. It
// returns the number of these bytes: fewer than n if the pieces are short or the memory ends.
func (c *cursor) take(n, most int, mr verbs.MR, list []verbs.SGE) (out []verbs.SGE, took int) {
	for ; most > 0 && took < n; most-- {
		s := c.next(n - took)
		if s == nil {
			break
		}
		list = append(list, verbs.SGE{Bytes: s, MR: mr})
		took += len(s)
	}
	return list, took
}

// pass moves the position as take would, without making a list.
func (c *cursor) pass(n, most int) (passed int) {
	for ; most > 0 && passed < n; most-- {
		s := c.next(n - passed)
		if s == nil {
			break
		}
		passed += len(s)
	}
	return passed
}

// txQueue is a FIFO linked through tx.next. The zero value is empty.
type txQueue struct {
	head, tail *tx
	n          int
}

func (q *txQueue) push(t *tx) {
	if q.tail == nil {
		q.head = t
	} else {
		q.tail.next = t
	}
	q.tail = t
	q.n++
}

func (q *txQueue) pop() *tx {
	t := q.head
	if t == nil {
		return nil
	}
	if q.head = t.next; q.head == nil {
		q.tail = nil
	}
	t.next = nil
	q.n--
	return t
}

// due reports whether the tx that has waited the longest has passed its deadline.
func (q *txQueue) due(now time.Duration) bool { return q.head != nil && now >= q.head.deadline }

// classQueue is a FIFO of two classes: messages with priority leave first.
type classQueue struct{ priority, normal txQueue }

func (q *classQueue) push(t *tx) {
	if t.priority {
		q.priority.push(t)
	} else {
		q.normal.push(t)
	}
}

func (q *classQueue) pop() *tx {
	if t := q.priority.pop(); t != nil {
		return t
	}
	return q.normal.pop()
}

func (q *classQueue) peek() *tx {
	if q.priority.head != nil {
		return q.priority.head
	}
	return q.normal.head
}

func (q *classQueue) len() int { return q.priority.n + q.normal.n }
