package socklnd

import (
	"errors"
	"io"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// reader is the receiving half of a connection, run by a goroutine of its own
// from handshake to end (socklnd ksocknal_process_receive):
//
//	KSM_HEADER → NOOP: acks → KSM_HEADER
//	           → LNET: acks → LNET_HEADER → Parse → PAYLOAD → SLOP → checksum → ack → Delivered → KSM_HEADER
//
// In version 1 messages begin with the LNet header. A checksum is computed from
// the bytes as they come, those of the slop included, and compared at the end.
//
// Headers are read to a buffer, with whatever comes along: to a small one of the connection's own
// while small messages come one by one, else to a pooled one. Payload bytes that came along are
// copied to the sink; all others are read there directly. While a connection is idle it holds no
// pooled buffer.
type reader struct {
	c      *conn
	bytes  []byte      // the whole of small or of the memory of buf; nil while nothing is buffered
	buf    *readBuffer // receive buffer from a pool
	r, w   int         // bytes[r:w] are received and not consumed yet
	window int         // number of bytes to read ahead

	begun     bool   // a part of the present message is consumed
	sums      bool   // the present message has a checksum
	following bool   // a follower runs the read loop; see readloop.Loop
	leftHeld  bool   // the follower has left a held message to the connection's own goroutine
	leftPart  bool   // the follower has left a payload, of which a part has come, to the connection's own goroutine
	sum       uint32 // checksum of the bytes of the message that are consumed
	want      uint32 // checksum in the header of the present message

	batcher lnd.Batcher // the layer above, if it receives in batches; nil: it does not
	// since the last EndBatch, lnet got a message with More set, so another EndBatch has to follow
	batched bool
	latest  int    // index in the field bytes where the latest message begins, if the next one may repeat its header; else -1
	refused int    // end, as index in the field bytes, of the messages that lnet has refused to take all at once; 0: none in this batch
	msgs    uint64 // messages that are not counted in rxMsgs yet

	corked   int           // messages since the connection was corked last, modulo corkCheck
	corkedAt time.Duration // in a batch that takes long, when the connection was corked last

	held   held
	readAt time.Duration // when the latest bytes came, on the NI's clock
	d      lnd.Delivery
	small  []byte // buffer of smallWindow bytes, made when one small message came

	ended *Error // why the connection has ended, if a follower has noticed it; nil: no follower has

	left   int    // bytes of the present payload that are to be read to its sink; the places are in buf.vec
	slop   int64  // bytes of the present payload that are to be discarded after the bytes in left
	cookie uint64 // cookie of the present message
}

// How many bytes an idle connection reads ahead (its window). A small window saves memory of the
// pool while small messages come one at a time. A narrow window follows a large message: the next
// message is probably large too, and what is read ahead of its payload has to be copied. In all
// other cases the window is wide.
const (
	smallWindow = 512 // bytes; a read that brings fewer makes the window small
	// one page of payload comes along, so the rest begins at a page boundary of the sink
	narrowWindow = 4<<10 + ksock.MsgHeaderSize + wire.HeaderSize
	wideWindow   = readBufferSize
	largePayload = 16 << 10
)

// errShortSink means that lnet gave a sink with less memory than its Length says.
var errShortSink = errors.New("socklnd: sink is shorter than its length")

func (r *reader) init(c *conn) {
	r.c = c
	r.d.Driver = c
	r.latest = -1
	r.batcher, _ = c.peer.ni.up.(lnd.Batcher)
	if c.stream.interruptible() {
		r.d.ReadLoop = &c.loop
	}
	r.window = wideWindow
	if c.ctype == ksock.BulkIn {
		r.window = narrowWindow
	}
}

// run reads until the connection ends, and then closes the peer's other connections too.
func (r *reader) run() {
	var err *Error
	for err == nil {
		err = r.next()
	}
	r.endBatch()
	r.releaseBuffer()
	r.c.peer.fail(r.c, err)
	r.c.tx.readerEnded()
}

// next receives one message, perhaps after a follower has received some.
func (r *reader) next() *Error {
	if r.r == r.w && r.c.loop.Requested() {
		r.endBatch()
		r.releaseBuffer()
		r.c.loop.HandOver(r.c.dead)
		switch {
		case r.ended != nil:
			return r.ended
		case r.leftHeld:
			return r.takeHeld()
		case r.leftPart:
			return r.takeRest()
		}
	}
	if r.r == r.w {
		// The goroutine of an idle connection waits here and not in message: the frames of
		// message would double the size of its stack.
		r.begun = false
		if err := r.fillEmpty(); err != nil || r.r == r.w {
			return err
		}
	}
	return r.message()
}

// payload reads the payload of the message to its sink and discards the rest. If it is
// interrupted, takeRest goes on.
func (r *reader) payload() *Error {
	length := int64(r.d.Header.PayloadLength)
	sink := r.d.Sink
	sink.Length = int(min(int64(max(sink.Length, 0)), length))
	r.left, r.slop = 0, length-int64(sink.Length)
	n := min(sink.Length, r.w-r.r)
	if n > 0 {
		if sink.CopyIn(r.bytes[r.r:r.r+n]) < n {
			return r.error(BadMessage, errShortSink)
		}
		r.consume(n)
	}
	if rest := sink.Tail(n); rest.Length > 0 {
		if err := r.aim(rest, r.slop == 0); err != nil {
			return err
		}
	}
	return r.restOfPayload()
}

// restOfPayload reads the bytes of the payload that have not come yet.
func (r *reader) restOfPayload() *Error {
	if err := r.fillSink(); err != nil {
		return err
	}
	switch length := r.d.Header.PayloadLength; {
	case length >= largePayload:
		r.window = narrowWindow
	case r.window == narrowWindow:
		r.window = wideWindow
	}
	return r.discard()
}

// aim makes fillSink read exactly rest.Length bytes into the memory rest. If ahead is true, the same
// read may also bring the beginning of the next message. The caller has consumed all buffered bytes.
func (r *reader) aim(rest lnd.Payload, ahead bool) *Error {
	if r.buf == nil {
		r.use(getReadBuffer())
	}
	r.r, r.w, r.latest = 0, 0, -1
	v := &r.buf.vec
	v.reset()
	v.pieces = rest.Append(v.pieces)
	v.recount()
	if v.total < rest.Length {
		return r.error(BadMessage, errShortSink)
	}
	r.left = v.total
	if ahead {
		v.add(r.bytes[:max(r.window, narrowWindow)])
	}
	return nil
}

// fillSink reads the bytes that are still to be read to the sink.
func (r *reader) fillSink() *Error {
	if r.left == 0 {
		return nil
	}
	v := &r.buf.vec
	for r.left > 0 {
		n, err := r.readv(v)
		if err != nil {
			return err
		}
		if r.sums {
			v.each(min(n, r.left), r.addSum)
		}
		v.advance(n)
		r.w = max(n-r.left, 0)
		r.left = max(r.left-n, 0)
	}
	v.reset()
	return nil
}

// discard reads the slop and drops it.
func (r *reader) discard() *Error {
	for r.slop > 0 {
		if r.r == r.w {
			if err := r.fill(); err != nil {
				return err
			}
		}
		step := int(min(r.slop, int64(r.w-r.r)))
		r.consume(step)
		r.slop -= int64(step)
	}
	return nil
}

// need waits until n bytes of headers are buffered.
func (r *reader) need(n int) *Error {
	for r.w-r.r < n {
		if err := r.fill(); err != nil {
			return err
		}
	}
	return nil
}

// consume marks n buffered bytes as consumed.
func (r *reader) consume(n int) {
	if r.sums {
		r.addSum(r.bytes[r.r : r.r+n])
	}
	r.r += n
	r.begun = true
}

// addSum adds b to the checksum of the message.
func (r *reader) addSum(b []byte) { r.sum = ksock.UpdateChecksum(r.sum, b) }

// fill waits for more bytes and buffers them.
func (r *reader) fill() *Error {
	if r.r == r.w {
		return r.fillMidway()
	}
	ahead := r.bytes[r.r:r.w] // the bytes at hand are less than a header
	if r.buf == nil {
		r.use(getReadBuffer())
	}
	r.r, r.w, r.latest = 0, copy(r.bytes, ahead), -1
	v := &r.buf.vec
	v.reset()
	v.add(r.bytes[r.w:])
	n, err := r.readv(v)
	v.reset()
	r.w += n
	return err
}

// fillEmpty gives the empty buffer back, waits, and takes a new one.
func (r *reader) fillEmpty() *Error {
	r.endBatch()
	r.releaseBuffer()
	r.c.midway.Store(r.begun)
	buf, n, err := r.c.stream.readIdle(r.small, r.window)
	if isInterrupt(err) {
		return nil
	}
	if err != nil {
		return r.readError(err)
	}
	r.use(buf)
	r.w = n
	switch {
	case n < smallWindow:
		r.window = smallWindow
		if r.small == nil {
			r.small = make([]byte, smallWindow)
		}
	case r.window == smallWindow:
		r.window = wideWindow // a full read shows that more messages may be waiting
	}
	r.count(n)
	if r.c.flow != nil {
		r.c.flow.Received(r.bytes[:n])
	}
	return nil
}

// readv reads more of a message that has begun, and waits for it. The error is interrupted if
// a follower must not wait for it.
func (r *reader) readv(v *vector) (int, *Error) {
	r.endBatch()
	r.c.midway.Store(true)
	if !r.beginWait() {
		return 0, interrupted
	}
	n, err := r.c.stream.readv(v)
	r.endWait()
	switch {
	case r.following && isInterrupt(err):
		return 0, interrupted
	case err != nil:
		return 0, r.readError(err)
	}
	r.count(n)
	if r.c.flow != nil {
		v.each(n, r.c.flow.Received)
	}
	return n, nil
}

// count adds n bytes that have arrived to the connection's counter, and sets readAt to the present
// time.
func (r *reader) count(n int) {
	r.readAt = r.c.peer.ni.clock.Now()
	r.c.rxBytes.Add(uint64(n))
}

func (r *reader) releaseBuffer() {
	if r.buf != nil {
		r.buf.release()
		r.buf = nil
	}
	r.bytes, r.r, r.w, r.latest = nil, 0, 0, -1
}

// use makes buf the buffer of the reader, or the small buffer if buf is nil.
func (r *reader) use(buf *readBuffer) {
	r.buf, r.bytes, r.r, r.w, r.latest = buf, r.small, 0, 0, -1
	if buf != nil {
		r.bytes = buf.bytes[:]
	}
}

// readError classifies the end of the stream: between messages it is an orderly close.
func (r *reader) readError(err error) *Error {
	partial := r.begun || r.r < r.w
	switch {
	case errors.Is(err, io.EOF) && !partial, errors.Is(err, syscall.ECONNRESET) && !partial:
		return r.error(PeerClosed, nil)
	case errors.Is(err, io.EOF):
		return r.error(CutMessage, io.ErrUnexpectedEOF)
	}
	return r.error(ReadFailed, err)
}

// error returns an error with the reason why the connection ends. If this side has closed the
// connection, it returns the reason for that.
func (r *reader) error(why Reason, err error) *Error {
	r.c.tx.mu.Lock()
	closed := r.c.tx.closed
	r.c.tx.mu.Unlock()
	if cause, ok := errors.AsType[*Error](closed); ok {
		return cause
	}
	return newError(why, r.c.peer.id, err)
}
