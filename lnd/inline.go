package lnd

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// MaxInline is the largest payload in bytes of an inline message.
const MaxInline = 1 << 10

// InlineBuffer is about how many bytes of inline messages, headers included, a buffer of a
// connection holds. A driver may use less, or more.
const InlineBuffer = 64 << 10

// Inline is a small message of which the driver has copied header and payload (a send with
// inline data, as RDMA calls it): the memory of the payload is free at once.
type Inline struct {
	Header wire.Header   // complete header
	To     nid.ProcessID // next hop, whose connection is used
	Lazy   bool          // the message answers one of a batch (Batcher), and may wait until that batch ends
	Opens  bool          // set by the driver: the message is the first one in its buffer
	Copies int           // number of further messages, equal to this one, that leave behind it
	Owner  any           // lnet's: the structure that this Inline is part of
	Link   *Inline       // next message of a list
}

// Length returns the number of payload bytes.
func (i *Inline) Length() int { return int(i.Header.PayloadLength) }

// Messages returns the number of messages that i stands for.
func (i *Inline) Messages() int { return 1 + i.Copies }

// Inliner is an NI that copies small messages into buffers of the connection. Messages that
// are posted while the connection is busy leave together with one write for each buffer, and
// lnet is told of all messages of a write at once. A buffer, and not a message, needs a credit.
type Inliner interface {
	// Post copies a message with a payload of at most MaxInline bytes, i.Messages() times, all into
	// the same buffer, and sets i.Opens. The driver takes another buffer only if open is true. Post makes no upcall, so lnet may call
	// it with a lock held. It returns false, and copies nothing, if no buffer has room and open
	// is false, if the message would have to wait for a connection, or behind messages that
	// were given to Send, or if the upcalls are no [InlineUpcalls].
	//
	// If f is not nil, the caller has to call f.Flush without locks, because no other
	// goroutine writes the message.
	Post(i *Inline, payload Payload, open bool) (f Flusher, taken bool)
}

// Flusher writes the messages that wait on a connection.
type Flusher interface{ Flush() }

// InlineUpcalls are upcalls that also take the ends of inline messages. Exactly one of them is
// called for each Inline, in the order of Post.
type InlineUpcalls interface {
	Upcalls
	// Left reports that the n Inlines of a list, all to one process, left at an instant on
	// Config.Clock, with their copies; 0: now.
	Left(first *Inline, n int, at time.Duration)
	// Lost reports that the last n of the messages that i stands for failed; the others have left.
	// payload is a copy of each one's, valid until Lost returns.
	Lost(i *Inline, n int, payload []byte, err error)
}

// InlineList is a list of inline messages in the order of their arrival. The zero value is
// empty. Not safe for concurrent use.
type InlineList struct {
	First *Inline // the oldest message
	last  *Inline
	N     int // number of Inlines
}

// Push appends a message.
func (l *InlineList) Push(i *Inline) {
	i.Link = nil
	if l.last == nil {
		l.First = i
	} else {
		l.last.Link = i
	}
	l.last = i
	l.N++
}

// Last returns the newest message, nil if the list is empty.
func (l *InlineList) Last() *Inline {
	if l.First == nil {
		return nil
	}
	return l.last
}

// Pop removes and returns the oldest message, nil if there is none.
func (l *InlineList) Pop() *Inline {
	i := l.First
	if i == nil {
		return nil
	}
	if l.First = i.Link; l.First == nil {
		l.last = nil
	}
	i.Link = nil
	l.N--
	return i
}
