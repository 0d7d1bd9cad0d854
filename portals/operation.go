package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// operation is one step of a Put or Get on this node, with the event in which it will end. The
// step is a message that goes out (PUT, GET, and at targets REPLY and ACK) or one that came in.
// Operations are pooled; each belongs to one goroutine at a time.
type operation struct {
	lnet.Message // the message that is sent

	md       *md // MD of the operation; nil for an ACK that is sent
	event    Event
	asked    nid.ProcessID   // for a PUT or GET that is sent: the process that answers it; for a PUT, or a run of ACKs, that came in: its source
	answerTo uint64          // for a PUT or GET that is sent: the handle of the MD, or of a call, that its answer names
	ni       *lnet.NI        // NI at which the delivery d arrived
	d        *lnd.Delivery   // the message that came in, while it is held
	waits    *md             // the MD for which the held message waits; nil: any MD that takes it
	why      lnet.DropReason // the reason to drop the message that was held
	ack      bool            // whether the PUT that arrived gets an ACK, of Header.PayloadLength bytes
	share    *share          // for a PUT that came in: the share in which it takes a slot of its NID; nil: none
	apart    *share          // for a held PUT: the share in which it waits for a slot; nil: it does not, and is in portal.held
	from     lnd.ReadLoop    // read loop of the connection that brought the message
	sample   sample          // for a REPLY that came in: the sample of its GET; for a PUT that is sent: on is set if its call is only for timing
	shared   *sharedSend     // for a PUT that is sent: SEND event that it shares with other PUTs; nil: it has its own
	times    int             // for a run of equal ACKs that came in: number of events; else 0

	next, prev *operation // neighbours in an operationList
}

func (t *Table) newOperation() *operation { return t.operations.Get().(*operation) }

func (t *Table) freeOperation(o *operation) {
	o.md, o.ni, o.d, o.ack, o.from = nil, nil, nil, false, nil
	o.waits, o.why, o.shared, o.share, o.apart, o.times = nil, lnet.NotDropped, nil, nil, nil, 0
	o.event, o.sample = Event{}, sample{}
	o.Payload, o.Sink = lnd.Payload{}, lnd.Payload{}
	o.Aborted, o.Answers, o.Group, o.Flow, o.Recovery, o.RDMAReply = nil, nil, 0, 0, false, false
	o.LeaveBy = 0
	o.Source = nid.NID{}
	t.operations.Put(o)
}

// operationList is a FIFO linked through next and prev. The zero value is empty.
type operationList struct {
	head, tail *operation
	n          int
}

func (l *operationList) push(o *operation) {
	if l.tail == nil {
		l.head = o
	} else {
		l.tail.next = o
	}
	o.prev, l.tail = l.tail, o
	l.n++
}

// append moves all operations of m to the end of l. The caller must not use m any more.
func (l *operationList) append(m operationList) {
	switch {
	case m.n == 0:
		return
	case l.n == 0:
		*l = m
		return
	}
	l.tail.next, m.head.prev = m.head, l.tail
	l.tail, l.n = m.tail, l.n+m.n
}

func (l *operationList) pop() *operation {
	o := l.head
	if o != nil {
		l.remove(o)
	}
	return o
}

// remove takes an operation off the list, on which it must be.
func (l *operationList) remove(o *operation) {
	if o.prev == nil {
		l.head = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		l.tail = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.next, o.prev = nil, nil
	l.n--
}
