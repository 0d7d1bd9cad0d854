package socklnd

import (
	"sync"

	"ulnet/lnd"
)

// writer is the sending half of a connection. A goroutine that sends a message while the writer is
// idle writes the message itself, at once and without blocking on the socket. The drain, a
// goroutine that exists only while there is something to write, writes the bytes that the socket
// did not take, and the messages that are queued during a write.
//
//	writing  batch  goroutine
//	no       nil    none
//	yes      nil    a sender, between two batches or finalizing one; or the reader, while inline
//	                messages wait for the end of what it has read (cork), unless a drain begins before;
//	                or none, while inline messages of a burst wait for a drain that is delayed (coalescing)
//	yes      set    the drain
type writer struct {
	c       *conn
	drainFn func() // the method drain, bound once to avoid allocation
	tickFn  func() // the method tick, bound once to avoid allocation

	mu        sync.Mutex
	full      batchList // batches of inline messages that have no room for another one; guarded by mu
	posted    *batch    // inline messages after those of full, and before those of queue; nil: none; guarded by mu
	queue     lnd.Queue // messages to write; guarded by mu
	acks      ackQueue  // cookies to acknowledge; guarded by mu
	writing   bool      // a goroutine owns the sending side; guarded by mu
	scheduled bool      // the sending side is owned by a drain that has not begun; guarded by mu
	corked    bool      // the sending side is owned by the reader, which flushes after its batch; guarded by mu
	answers   bool      // a drain is scheduled, and the reader writes in its place if it ends its batch first; guarded by mu
	queued    int64     // bytes of messages taken for sending, until they have left; guarded by mu
	buffered  buffered  // inline messages in batches whose ends are not reported yet; guarded by mu
	ending    bool      // the goroutine that owns the sending side finalizes messages; guarded by mu
	closed    error     // why nothing is sent any more; guarded by mu
	alone     bool      // the reader has ended, so the writer closes the capture when it ends; guarded by mu

	batch *batch // batch that is written in part; used only by the goroutine that writes

	burst      burst      // burst of small messages; guarded by mu
	coalescing coalescing // delays of drains in a burst; guarded by mu
}

func (w *writer) init(c *conn) {
	w.c = c
	w.drainFn, w.tickFn = w.drain, w.tick
}

// push takes m for sending. It returns true if the caller has to call Flush, because no other
// goroutine writes the message. The caller holds peer.mu, and the connection is attached, so
// it is not closed.
func (w *writer) push(m *lnd.Message) (flush bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued += w.sizeOf(m)
	w.queue.Push(m)
	return w.takeOver() || w.seizeDelayed() || w.begin(m.Header.PayloadLength <= lnd.MaxInline)
}

// sizeOf returns the bytes of a message, with its headers.
func (w *writer) sizeOf(m *lnd.Message) int64 {
	return int64(w.c.framing.wireSize(int(m.Header.PayloadLength)))
}

// queuedBytes returns the bytes of messages that were taken for sending and have not left yet.
func (w *writer) queuedBytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued
}

// begin starts to write what waits, unless a goroutine does so already. It returns true if the
// caller has to call Flush. The caller holds mu, and the connection is not closed.
func (w *writer) begin(small bool) (flush bool) {
	if w.writing {
		return false
	}
	w.writing = true
	if !small {
		return true
	}
	if w.burst.add(w.c.peer.ni.clock.Now()); !w.burst.on() {
		return true
	}
	w.schedule()
	return false
}

// pushAll takes all of q for sending and leaves the writing to the drain.
func (w *writer) pushAll(q *lnd.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for m := q.Pop(); m != nil; m = q.Pop() {
		w.queued += w.sizeOf(m)
		w.queue.Push(m)
	}
	if !w.writing && w.queue.Len() > 0 {
		w.writing = true
		w.startDrain()
	}
}

// close refuses everything from now on and returns the messages that are still queued.
func (w *writer) close(cause error) (left lnd.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = cause
	left, w.queue = w.queue, lnd.Queue{}
	w.acks = nil
	return left
}

// Flush writes what waits as far as the socket takes it at once. The caller owns the sending
// side and holds no lock.
func (w *writer) Flush() {
	b := w.take()
	if b == nil {
		return
	}
	var err error
	if b.vec.total > 0 { // total is 0 if no message of the batch could be encoded
		var n int
		if pieces := b.vec.left(); len(pieces) == 1 {
			n, err = w.c.stream.write(pieces[0])
		} else {
			n, err = w.c.stream.writev(&b.vec, false)
		}
		w.wrote(b, n)
	}
	if err == nil && b.vec.total > 0 {
		w.batch = b
		w.mu.Lock()
		w.startDrain()
		w.mu.Unlock()
		return
	}
	w.finish(b, err)
	w.proceed()
}

// proceed ends the turn of a goroutine that has written something. If more waits to be written,
// another goroutine continues.
func (w *writer) proceed() {
	w.mu.Lock()
	w.ending = false
	if w.empty() {
		w.rest()
		return
	}
	w.schedule() // called under mu, and so before close: after close the reader and the NI may end
	w.mu.Unlock()
}

// empty reports whether nothing waits to be written. The caller holds mu.
func (w *writer) empty() bool {
	return w.posted == nil && w.queue.Len() == 0 && len(w.acks) == 0
}

// rest releases the sending side. The caller holds w.mu, which rest unlocks.
func (w *writer) rest() {
	w.writing = false
	w.burst.idle = w.c.peer.ni.clock.Now()
	last := w.alone
	w.mu.Unlock()
	if last {
		w.c.closeFlow()
	}
}

// readerEnded tells the writer that the reader has ended. Of reader and writer, the one that ends last
// closes the capture.
func (w *writer) readerEnded() {
	w.mu.Lock()
	w.alone = true
	last := !w.writing
	w.mu.Unlock()
	if last {
		w.c.closeFlow()
	}
}

// startDrain hands the sending side to a new goroutine. The caller holds mu.
func (w *writer) startDrain() {
	w.scheduled = true
	w.c.peer.ni.peers.Tasks.Add(1)
	go w.drainFn()
}

// drain writes until nothing is left, many messages with one system call. It does nothing if a
// sender has taken the sending side from it before it began.
func (w *writer) drain() {
	defer w.c.peer.ni.peers.Tasks.Done()
	w.mu.Lock()
	owner := w.scheduled && !w.coalescing.on
	if owner {
		w.scheduled, w.answers = false, false
	}
	w.mu.Unlock()
	if !owner {
		return
	}
	b := w.batch
	w.batch = nil
	for {
		if b == nil {
			if b = w.take(); b == nil {
				return
			}
		}
		var err error
		for b.vec.total > 0 && err == nil {
			var n int
			n, err = w.c.stream.writev(&b.vec, true)
			w.wrote(b, n)
		}
		w.finish(b, err)
		if b = nil; w.lingers() {
			return
		}
	}
}

// take returns the next batch, and shows it to the tap before it is written, so that a
// capture has no answer ahead of its request. When the connection is closed, the write fails and the
// batch is not shown.
func (w *writer) take() *batch {
	b := w.next()
	if b != nil && w.c.flow != nil && !w.isClosed() {
		b.vec.each(b.vec.total, w.c.flow.Sent)
	}
	return b
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed != nil
}

// next returns the next messages as one batch: the inline ones, then those of the queue. Each
// message carries the ack of a cookie, if one waits; NOOPs for the remaining acks follow the
// messages. Priority messages leave before all others, in a batch of their own if inline messages
// wait. If there is nothing to send, next gives the sending side up and returns nil.
func (w *writer) next() *batch {
	w.mu.Lock()
	if w.empty() {
		w.rest()
		return nil
	}
	defer w.mu.Unlock()
	overtake := w.posted != nil && w.queue.Urgent()
	b := w.nextInline(overtake)
	b.seal()
	for w.queue.Len() > 0 && b.hasRoom() && (w.posted == nil || overtake && w.queue.Urgent()) {
		cookie := w.acks.carried()
		if b.add(w.queue.Pop(), w.c, cookie) && cookie != 0 {
			w.acks.remove(1)
		}
	}
	if len(w.acks) > 0 {
		w.acks.remove(b.addNoops(w.acks, w.c))
	}
	b.whole = b.vec.total
	return b
}

// nextInline takes the next batch of inline messages. If without is set, or there is none, it makes
// an empty batch. The caller holds mu.
func (w *writer) nextInline(without bool) *batch {
	if without || w.posted == nil {
		return newBatch()
	}
	b := w.full.pop()
	if b == nil {
		b, w.posted, w.coalescing.lazy = w.posted, nil, false
	}
	return b
}

// wrote accounts for n bytes of b that have left.
func (w *writer) wrote(b *batch, n int) {
	if n == 0 {
		return
	}
	w.c.txBytes.Add(uint64(n))
	b.vec.advance(n)
}

// finish ends a batch that has left, or failed. A message whose bytes the socket took whole has
// left, even if a later one has failed. finish owns the sending side while it finalizes, so a
// handler that sends on this connection only queues.
func (w *writer) finish(b *batch, err error) {
	if err != nil {
		err = w.fail(err)
	}
	ni := w.c.peer.ni
	w.mu.Lock()
	w.ending = true
	w.queued -= b.size
	if err == nil {
		messages := len(b.records) + b.copies
		w.buffered.remove(messages, b.inlineBytes-messages*w.c.framing.overhead())
	}
	w.mu.Unlock()
	w.c.txMsgs.Add(uint64(len(b.messages) + len(b.records) + b.copies))
	now := ni.clock.Now() // the clock is read once, because many small messages leave together
	end := w.finishInline(b, now, err)
	for _, m := range b.messages {
		end += w.c.framing.wireSize(m.Payload.Length)
		m.SentAt = now
		ni.finalize(m, b.failed(end, err))
	}
	for _, m := range b.unfit {
		ni.counts.count(BadHeader)
		ni.finalize(m, newError(BadHeader, m.Target, unfitness(m)))
	}
	b.release()
}

// fail closes the peer's connections after a write error and returns the error
// for the messages: the cause, if the connection was closed by us.
func (w *writer) fail(err error) error {
	w.mu.Lock()
	cause := w.closed
	w.mu.Unlock()
	if cause == nil {
		cause = newError(WriteFailed, w.c.peer.id, err)
		w.c.peer.fail(w.c, cause)
	}
	return cause
}
