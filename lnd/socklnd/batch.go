package socklnd

import (
	"errors"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Bounds of one gathered write. Many messages in one write make small ones cheap; the byte
// limit bounds how long a priority message waits behind bulk on the same connection.
const (
	maxBatchMessages = 64
	maxBatchNoops    = 64
	maxBatchBytes    = 256 << 10
	maxHeaderSize    = ksock.MsgHeaderSize + wire.LargeHeaderSize
)

// batch is what one gathered write sends: messages, then NOOPs. Headers are in its own
// memory, payload is written from the sender's. Batches are pooled; an idle connection has
// none.
type batch struct {
	vec      vector
	headers  [maxBatchMessages*maxHeaderSize + maxBatchNoops*ksock.MsgHeaderSize]byte
	used     int // bytes of headers in use
	messages []*lnd.Message
	unfit    []*lnd.Message // messages that cannot be encoded
	size     int64          // bytes of messages and unfit, as the queue counts them
}

var batches = sync.Pool{New: func() any {
	return &batch{messages: make([]*lnd.Message, 0, maxBatchMessages)}
}}

func (b *batch) hasRoom() bool {
	return len(b.messages)+len(b.unfit) < maxBatchMessages && b.vec.total < maxBatchBytes
}

// addNoops encodes as many of the NOOPs as there is room for and returns their
// number. It is called once, after the messages.
func (b *batch) addNoops(noops ackQueue, c *conn) int {
	noops = noops[:min(len(noops), maxBatchNoops)]
	for _, cookies := range noops {
		dst := b.headers[b.used:b.used]
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

// add encodes m for c with the ack of a cookie, 0 for none, and returns true.
// It puts m among the unfit if its NIDs do not fit or its payload is not as long
// as its header says.
func (b *batch) add(m *lnd.Message, c *conn, cookie uint64) bool {
	b.size += c.framing.wireSize(m)
	dst, err := c.framing.appendHeaders(b.headers[b.used:b.used], &m.Header, cookie)
	if err != nil || m.Payload.Length != int(m.Header.PayloadLength) {
		b.unfit = append(b.unfit, m)
		return false
	}
	b.messages = append(b.messages, m)
	b.addHeader(len(dst))
	n := len(b.vec.pieces)
	b.vec.pieces = m.Payload.Append(b.vec.pieces)
	for _, p := range b.vec.pieces[n:] {
		b.vec.total += len(p)
	}
	if c.framing.sums {
		c.peer.ni.seal(dst, b.vec.pieces[n:]...)
	}
	return true
}

// addHeader adds n encoded bytes to the batch: to the last piece, if that piece ends where
// they begin.
func (b *batch) addHeader(n int) {
	piece := b.headers[b.used : b.used+n : b.used+n]
	b.used += n
	if last := len(b.vec.pieces) - 1; last >= 0 && b.endsAt(last, b.used-n) {
		b.vec.total += n
		p := b.vec.pieces[last]
		start := b.used - n - len(p)
		b.vec.pieces[last] = b.headers[start:b.used:b.used]
		return
	}
	b.vec.add(piece)
}

// endsAt reports whether piece i is header memory that ends at offset end.
func (b *batch) endsAt(i, end int) bool {
	p := b.vec.pieces[i]
	return end > 0 && &p[len(p)-1] == &b.headers[end-1]
}

// release empties b and gives it back to the pool.
func (b *batch) release() {
	b.vec.reset()
	clear(b.messages)
	clear(b.unfit)
	b.messages, b.unfit = b.messages[:0], b.unfit[:0]
	b.used, b.size = 0, 0
	batches.Put(b)
}
