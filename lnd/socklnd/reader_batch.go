package socklnd

import (
	"bytes"
	"encoding/binary"
	"time"

	"ulnet/lnd/socklnd/ksock"
)

// The messages that one read has brought are handed to lnet as a batch (lnd.Batcher). In a burst,
// the header of a message mostly differs from that of the message before in nothing but the length
// of the payload and the command. So a header that begins with the same bytes as the one before is
// not parsed again.

// maxData bounds the payload that lnet copies while it handles the header: lnet holds a lock meanwhile.
const maxData = 4 << 10

// varying is the number of bytes at the end of an LNet header that a message does not repeat:
// payload_length and the command.
const varying = 44

// repeats reports whether the whole header of the next message is buffered, and begins with the
// same bytes as the one before.
func (r *reader) repeats() bool {
	n := r.c.framing.overhead()
	if r.latest < 0 || r.w-r.r < n {
		return false
	}
	n -= varying
	return bytes.Equal(r.bytes[r.latest:r.latest+n], r.bytes[r.r:r.r+n])
}

// repeat receives a header that repeats the one before.
func (r *reader) repeat() {
	n := r.c.framing.overhead()
	b := r.bytes[r.r+n-varying : r.r+n]
	h := &r.d.Header
	h.PayloadLength = binary.LittleEndian.Uint32(b)
	copy(h.Body[:], b[4:])
	r.latest = r.r
	r.r += n
	r.begun, r.d.Repeats = true, true
	r.msgs++
}

// again offers lnet, all at once, the messages that follow the latest one and are equal to it. The
// latest one is an ACK: the ACKs of a peer for a burst of PUTs come together, and are mostly equal.
// It leaves out a message that ends where the buffered bytes end: that is the last message of the batch,
// which has to be parsed with More unset.
func (r *reader) again() {
	if r.batcher == nil || r.latest < 0 || r.r < r.refused {
		return
	}
	ack, n := r.bytes[r.latest:r.r], 0
	for at := r.r; at+len(ack) < r.w && bytes.Equal(r.bytes[at:at+len(ack)], ack); at += len(ack) {
		n++
	}
	switch {
	case n == 0:
	case r.batcher.Again(&r.d, n):
		r.latest += n * len(ack)
		r.r += n * len(ack)
		r.msgs += uint64(n)
	default:
		r.refused = r.r + n*len(ack)
	}
}

// remember notes where the header lies that was just received, with which repeats compares the next one. It
// does not do so for headers with a cookie or a checksum, which are different each time.
func (r *reader) remember(h ksock.MsgHeader) {
	r.latest = -1
	if h.Checksum == 0 && h.Cookies == [2]uint64{} {
		r.latest = r.r - r.c.framing.overhead() // negative if the header came in pieces, because the first ones may not be in the buffer any more
	}
}

// offer gives lnet the payload that has come along with the header. It does not offer the payload
// of a message with a checksum, because the checksum has to be verified first. Nor does it offer
// that of a message with a cookie, because the cookie has to be acknowledged before lnet makes the
// event.
func (r *reader) offer(cookie uint64) {
	d, n := &r.d, int64(r.d.Header.PayloadLength)
	there := int64(r.w - r.r)
	if n >= there {
		r.countMessages()
	}
	if r.batcher == nil {
		return
	}
	if cookie == 0 && !r.sums && n <= min(there, maxData) {
		d.Data = r.bytes[r.r : r.r+int(n) : r.r+int(n)]
	}
	d.More = n < there
	if d.More {
		r.cork()
	}
	r.batched = r.batched || d.More
}

// corkTime and corkCheck bound how long answers wait for the end of a batch: after every corkCheck messages
// the reader looks at the clock.
const (
	corkTime  = 50 * time.Microsecond
	corkCheck = 8
)

// cork makes the answers to messages of a batch leave with one write at its end.
func (r *reader) cork() {
	if r.corked = (r.corked + 1) % corkCheck; r.corked != 1 {
		return
	}
	now := r.c.peer.ni.clock.Now()
	if now-r.corkedAt > corkTime {
		r.c.tx.uncork()
		r.corkedAt = now
	}
	r.c.tx.cork()
}

// endBatch ends a batch, if there is one.
func (r *reader) endBatch() {
	r.countMessages()
	r.latest, r.refused = -1, 0
	if r.batched {
		r.batched, r.corked = false, 0
		r.batcher.EndBatch(&r.d)
		r.c.tx.uncork()
	}
}

// countMessages adds the messages of a batch to the connection's counter.
func (r *reader) countMessages() {
	if r.msgs > 0 {
		r.c.rxMsgs.Add(r.msgs)
		r.msgs = 0
	}
}
