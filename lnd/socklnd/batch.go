package socklnd

import (
	"encoding/binary"
	"errors"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Bounds of one gathered write. Many messages in one write make small ones cheap; the byte
// limit bounds how long a priority message waits behind bulk on the same connection.
const (
	maxBatchMessages = 256 // messages that are not inline
	maxBatchNoops    = 64
	maxBatchBytes    = 256 << 10
	maxHeaderSize    = ksock.MsgHeaderSize + wire.LargeHeaderSize
	batchMemory      = lnd.InlineBuffer                    // for headers, and for payloads of at most lnd.MaxInline bytes
	noopMemory       = maxBatchNoops * ksock.MsgHeaderSize // part of batchMemory for NOOPs
)

// batch is what one gathered write sends: inline messages, then other messages, then NOOPs. Headers
// and small payloads are in the batch's own memory, because for so few bytes a copy costs less than a
// piece of a gathered write; larger payloads are written from the sender's. Batches are pooled; an
// idle connection has none. Credits bound how many there are.
type batch struct {
	vec         vector
	bytes       [batchMemory]byte
	used        int          // number of bytes in use
	records     []lnd.Record // records of the inline messages
	copies      int          // number of copies that the inline messages have together, see lnd.Inline
	owner       any          // Owner of the inline messages; all of them have the same
	inlineBytes int          // bytes of the inline messages, which come first in the array bytes
	latest      int          // index in the array bytes at which the latest inline message begins
	// header of an earlier inline message; the latest one has the same header but for its last bytes,
	// see varying
	header   wire.Header
	messages []*lnd.Message
	unfit    []*lnd.Message // messages that cannot be encoded
	size     int64          // bytes of all messages of the batch, the unfit ones included, as the queue counts them
	whole    int            // bytes of the batch when its write began
	next     *batch         // next batch of a batchList
}

// batchList is a FIFO of batches. The zero value is empty.
type batchList struct{ head, tail *batch }

func (l *batchList) push(b *batch) {
	if l.head == nil {
		l.head = b
	} else {
		l.tail.next = b
	}
	l.tail = b
}

// pop removes and returns the oldest batch, nil if there is none.
func (l *batchList) pop() *batch {
	b := l.head
	if b != nil {
		l.head, b.next = b.next, nil
	}
	return b
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func newBatch() *batch { return batches.Get().(*batch) }

// hasRoom reports whether there is room for another message that is not inline.
func (b *batch) hasRoom() bool {
	return len(b.messages)+len(b.unfit) < maxBatchMessages && b.vec.total < maxBatchBytes &&
		b.used+maxHeaderSize+lnd.MaxInline <= batchMemory-noopMemory
}

// post encodes an inline message and its copies, and returns their size in bytes. ok is false if there
// is no room for them, or they cannot be encoded.
func (b *batch) post(i *lnd.Inline, payload lnd.Payload, c *conn) (size int, ok bool) {
	size = i.Messages() * c.framing.wireSize(payload.Length)
	if b.used+size > batchMemory-noopMemory || payload.Length != int(i.Header.PayloadLength) {
		return 0, false
	}
	dst, err := b.appendHeaders(i, c)
	if err != nil {
		return 0, false
	}
	dst = payload.AppendTo(dst)
	if c.framing.sums {
		c.peer.ni.seal(dst)
	}
	for one := len(dst); len(dst) < size; {
		dst = append(dst, dst[:one]...)
	}
	b.latest = b.used
	b.used += size
	b.size += int64(size)
	b.copies += int(i.Copies)
	i.Opens = len(b.records) == 0
	b.records = i.AppendRecord(b.records)
	return size, true
}

// appendHeaders appends the headers of an inline message. In a burst, the header of a message
// mostly differs from that of the message before in nothing but the length of the payload and the
// command: then the other bytes are copied from there.
func (b *batch) appendHeaders(i *lnd.Inline, c *conn) ([]byte, error) {
	dst := b.bytes[b.used:b.used]
	if len(b.records) == 0 || c.framing.sums || !repeats(&b.header, &i.Header) {
		dst, err := c.framing.appendHeaders(dst, &i.Header, 0)
		if err == nil {
			b.header = i.Header
		}
		return dst, err
	}
	dst = append(dst, b.bytes[b.latest:b.latest+c.framing.overhead()-varying]...)
	dst = binary.LittleEndian.AppendUint32(dst, i.Header.PayloadLength)
	return append(dst, i.Header.Body[:]...), nil
}

// repeats reports whether two headers are equal except for the last bytes of their wire form, as many
// as the constant varying says.
func repeats(a, b *wire.Header) bool {
	return a.Type == b.Type && a.DestPID == b.DestPID && a.SrcPID == b.SrcPID && a.DestNID == b.DestNID && a.SrcNID == b.SrcNID
}

// seal ends the inline messages of the batch.
func (b *batch) seal() {
	if b.inlineBytes = b.used; b.used > 0 {
		b.vec.add(b.bytes[:b.used:b.used])
	}
}

// failed returns the error of a message that ends at offset end of the batch, when the write of the
// batch has ended with err: nil if all bytes up to there have left, otherwise err.
func (b *batch) failed(end int, err error) error {
	if err != nil && end <= b.whole-b.vec.total {
		return nil
	}
	return err
}

// addNoops encodes as many of the NOOPs as there is room for and returns their
// number. It is called once, after the messages of the batch were added.
func (b *batch) addNoops(noops ackQueue, c *conn) int {
	noops = noops[:min(len(noops), maxBatchNoops)]
	for _, cookies := range noops {
		dst := b.bytes[b.used:b.used]
		dst, _ = ksock.MsgHeader{Type: ksock.Noop, Cookies: cookies}.AppendBinary(dst) // AppendBinary of this type never returns an error
		if c.framing.sums {
			c.peer.ni.seal(dst)
		}
		b.addHeader(len(dst))
	}
	return len(noops)
}

// errPayloadLength means a message whose payload and header disagree.
var errPayloadLength = errors.New("socklnd: payload is not as long as its header says")

// unfitness returns why m cannot be encoded.
func unfitness(m *lnd.Message) error {
	if m.Payload.Length != int(m.Header.PayloadLength) {
		return errPayloadLength
	}
	return wire.ErrLargeNID
}

// add encodes m for c with the ack of a cookie, 0 for none, and returns true. If m's NIDs do not fit,
// or its payload is not as long as its header says, add puts m among the unfit and returns false.
func (b *batch) add(m *lnd.Message, c *conn, cookie uint64) bool {
	b.size += int64(c.framing.wireSize(int(m.Header.PayloadLength)))
	dst, err := c.framing.appendHeaders(b.bytes[b.used:b.used], &m.Header, cookie)
	if err != nil || m.Payload.Length != int(m.Header.PayloadLength) {
		b.unfit = append(b.unfit, m)
		return false
	}
	b.messages = append(b.messages, m)
	if m.Payload.Length <= lnd.MaxInline {
		dst = m.Payload.AppendTo(dst)
	}
	b.addHeader(len(dst))
	n := len(b.vec.pieces)
	if m.Payload.Length > lnd.MaxInline {
		b.vec.pieces = m.Payload.Append(b.vec.pieces)
		b.vec.total += m.Payload.Length
	}
	if c.framing.sums {
		c.peer.ni.seal(dst, b.vec.pieces[n:]...)
	}
	return true
}

// addHeader adds to the batch the n bytes that were encoded behind its bytes in use: a header,
// perhaps with its payload. If the last piece ends where they begin, they become part of that
// piece, else a piece of their own.
func (b *batch) addHeader(n int) {
	piece := b.bytes[b.used : b.used+n : b.used+n]
	b.used += n
	if last := len(b.vec.pieces) - 1; last >= 0 && b.endsAt(last, b.used-n) {
		b.vec.total += n
		p := b.vec.pieces[last]
		start := b.used - n - len(p)
		b.vec.pieces[last] = b.bytes[start:b.used:b.used]
		return
	}
	b.vec.add(piece)
}

// endsAt reports whether piece i is header memory that ends at offset end.
func (b *batch) endsAt(i, end int) bool {
	p := b.vec.pieces[i]
	return end > 0 && &p[len(p)-1] == &b.bytes[end-1]
}

// release empties b and gives it back to the pool.
func (b *batch) release() {
	b.vec.reset()
	clear(b.messages)
	clear(b.unfit)
	clear(b.records)
	b.messages, b.unfit, b.records = b.messages[:0], b.unfit[:0], b.records[:0]
	b.used, b.size, b.copies, b.inlineBytes, b.whole, b.owner = 0, 0, 0, 0, 0, nil
	batches.Put(b)
}
