package lnd

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// MaxInline is the largest payload in bytes of an inline message.
const MaxInline = 1 << 10

// InlineBuffer is about how many bytes of inline messages, headers included, a buffer of a
// connection holds. A driver may use less, or more.
const InlineBuffer = 64 << 10

// Inline is a small message that a driver copies when it is posted (a send with inline data, as RDMA
// calls it): the memory of the Inline and of the payload is free at once.
type Inline struct {
	Header wire.Header   // complete header
	To     nid.ProcessID // next hop, whose connection is used
	Lazy   bool          // the message answers one of a batch (Batcher), and may wait until that batch ends
	Opens  bool          // set by Post: the message is the first one in its buffer
	Owner  any           // set by lnet: the peer; if Post takes another buffer, this becomes the owner of that buffer
	Record
}

// Record is what a driver keeps of an inline message until that has ended. The records of the messages
// in one buffer lie next to each other in memory, so that hundreds of messages end at a small cost.
type Record struct {
	Body    [wire.BodySize]byte // set by the driver: copy of Header.Body, the part of the header that depends on Type
	Type    wire.MsgType        // set by the driver: type of the message
	Length  int32               // set by the driver: number of payload bytes
	Copies  int32               // number of further messages, equal to this one, that are sent directly after it
	PID     nid.PID             // set by the upper layer: PID that the sender asked for
	Pinned  bool                // set by the upper layer: the header has the NID to send from
	Closes  bool                // set by the driver: the record is the last one of its buffer whose end is reported
	Expires time.Duration       // set by lnet: time at which the message expires, if it had to wait in a queue; else 0
	Upper   any                 // any data of the upper layer
	Ptr     any                 // further data of the upper layer
}

// Messages returns the number of messages that r stands for.
func (r *Record) Messages() int { return 1 + int(r.Copies) }

// AppendRecord appends what a driver keeps of a message to a list.
func (i *Inline) AppendRecord(list []Record) []Record {
	n := len(list)
	list = slices.Grow(list, 1)[:n+1]
	r, h := &list[n], &i.Header
	// Copy field by field. A copy of the whole struct would read several fields at once that were just
	// written one by one, and would stall the processor (failed store forwarding).
	r.Closes = false
	r.Body, r.Type, r.Length = h.Body, h.Type, int32(h.PayloadLength)
	r.Copies, r.PID, r.Pinned, r.Expires = i.Copies, i.PID, i.Pinned, i.Expires
	r.Upper, r.Ptr = i.Upper, i.Ptr
	return list
}

// Inliner is an NI that copies small messages into buffers of the connection. Messages that
// are posted while the connection is busy leave together with one write for each buffer, and
// lnet is told of all messages of a write at once. A buffer, and not a message, needs a credit.
type Inliner interface {
	// Post copies a message with a payload of at most MaxInline bytes, i.Messages() times, all into
	// the same buffer, and sets i.Opens, which says whether the message is the first one in that
	// buffer. The driver takes another buffer only if open is true. Post makes no upcall, so lnet may
	// call it with a lock held. Post returns false, and copies nothing, in three cases: no buffer has
	// room and open is false; the message would have to wait for a connection, or behind messages that
	// were given to Send; the upcalls do not implement [InlineUpcalls].
	//
	// If f is not nil, the caller has to call f.Flush without locks, because no other goroutine writes
	// the message.
	Post(i *Inline, payload Payload, open bool) (f Flusher, taken bool)

	// Buffered returns how many messages to a process are in buffers, and how many bytes of payload they
	// have. A driver may leave out the messages of a closed connection, although it has not reported their
	// ends yet.
	Buffered(to nid.ProcessID) (messages, bytes int)
}

// Flusher writes the messages that wait on a connection.
type Flusher interface{ Flush() }

// InlineUpcalls are upcalls that also report the ends of inline messages. For each Inline the driver calls
// either Left or Lost, in the order of the calls of Post. Of the records of a buffer, the last one has
// Closes set. When the call returns, the driver may use the records again.
type InlineUpcalls interface {
	Upcalls
	// Left reports that the messages of list, which went to one process, and their copies have left: at the
	// time at on Config.Clock, or just now if at is 0. owner is the owner of their buffer.
	Left(owner any, list []Record, to nid.ProcessID, at time.Duration)
	// Lost reports that the last n of the messages that r stands for failed; the others have left. h is
	// the header of each, payload is valid until Lost returns.
	Lost(owner any, r *Record, h *wire.Header, to nid.ProcessID, n int, payload []byte, err error)
}
