package socklnd

import (
	"errors"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Bounds of one gathered write. Many messages in one write are what makes
// small ones cheap; the byte limit keeps a priority message from waiting long
// behind bulk on the same connection.
const (
	maxBatchMessages = 64
	maxBatchBytes    = 256 << 10
	maxHeaderSize    = ksock.MsgHeaderSize + wire.LargeHeaderSize
)

// batch is what one gathered write sends: NOOPs, then messages, headers from
// its own memory and payload from where it lies. Batches are pooled; an idle
// connection has none.
type batch struct {
	vec      vector
	headers  [maxBatchMessages * maxHeaderSize]byte
	used     int // bytes of headers
	noops    int
	messages []*lnd.Message
	unfit    []*lnd.Message // cannot be encoded
	size     int64          // of messages and unfit, as queued
}

var batches = sync.Pool{New: func() any {
	return &batch{messages: make([]*lnd.Message, 0, maxBatchMessages)}
}}

func (b *batch) hasRoom() bool {
	return b.noops+len(b.messages)+len(b.unfit) < maxBatchMessages && b.vec.total < maxBatchBytes
}

// addNoops encodes NOOPs for as many of the cookies as there is room for and
// returns their number.
func (b *batch) addNoops(cookies []uint64) int {
	cookies = cookies[:min(len(cookies), maxBatchMessages)]
	for _, cookie := range cookies {
		dst := b.headers[b.used:b.used]
		dst, _ = ksock.NewNoop(cookie).AppendBinary(dst) // no error exists
		b.addHeader(len(dst))
		b.noops++
	}
	return len(cookies)
}

// errPayloadLength means a message whose payload and header disagree.
var errPayloadLength = errors.New("socklnd: payload is not as long as its header says")

// unfitness tells why m is among the unfit.
func unfitness(m *lnd.Message) error {
	if m.Payload.Length != int(m.Header.PayloadLength) {
		return errPayloadLength
	}
	return wire.ErrLargeNID
}

// add encodes m, or puts it among the unfit if its NIDs do not fit or its
// payload is not as long as its header says.
func (b *batch) add(m *lnd.Message) {
	b.size += wireSize(m)
	dst := b.headers[b.used:b.used]
	dst, _ = ksock.MsgHeader{Type: ksock.LNet}.AppendBinary(dst) // no error exists
	dst, err := m.Header.AppendBinary(dst)
	if err != nil || m.Payload.Length != int(m.Header.PayloadLength) {
		b.unfit = append(b.unfit, m)
		return
	}
	b.messages = append(b.messages, m)
	b.addHeader(len(dst))
	n := len(b.vec.pieces)
	b.vec.pieces = m.Payload.Append(b.vec.pieces)
	for _, p := range b.vec.pieces[n:] {
		b.vec.total += len(p)
	}
}

// addHeader adds n encoded bytes to what is written, to the last piece if
// that ends where they begin.
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
	b.used, b.noops, b.size = 0, 0, 0
	batches.Put(b)
}
