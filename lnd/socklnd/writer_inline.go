package socklnd

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Inline messages are encoded into a batch. When that is full, another one is begun, as far as lnet
// has credits for it. The goroutine that posts a message writes it at once if the connection is
// idle. In a burst the drain writes the batches. But if enough bytes for a write have gathered
// before the drain has begun, the goroutine that posted the last message takes the sending side
// over: it is running already, and the drain may wait for a processor.

// enoughBytes is the number of bytes of inline messages that are worth a write.
const enoughBytes = batchMemory * 3 / 4

// enough reports whether enough inline messages wait for a write. The caller holds mu.
func (w *writer) enough() bool { return w.posted.used >= enoughBytes || w.full.head != nil }

var _ lnd.Inliner = (*NI)(nil)

// Post implements lnd.Inliner.
func (ni *NI) Post(i *lnd.Inline, payload lnd.Payload, open bool) (lnd.Flusher, bool) {
	if ni.inline == nil {
		return nil, false
	}
	recent := ni.recent.Slot(i.To.NID.Hash())
	p := recent.Load()
	if p == nil || p.id != i.To {
		if p = ni.peers.Find(i.To); p == nil {
			return nil, false
		}
		recent.Store(p)
	}
	if open {
		return p.post(i, payload)
	}
	if c := p.latestFor(payload.Length); c != nil {
		return c.tx.post(i, payload, false)
	}
	return nil, false
}

// buffered counts inline messages and the bytes of their payloads.
type buffered struct{ messages, bytes int }

func (b *buffered) remove(messages, bytes int) {
	b.messages -= messages
	b.bytes -= bytes
}

// Buffered implements lnd.Inliner.
func (ni *NI) Buffered(to nid.ProcessID) (messages, bytes int) {
	p := ni.peers.Find(to)
	if p == nil {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.tx.mu.Lock()
		messages += c.tx.buffered.messages
		bytes += c.tx.buffered.bytes
		c.tx.mu.Unlock()
	}
	return messages, bytes
}

// latestFor returns the connection that took the latest inline message of the kind (small or large) that a message
// with length bytes of payload has, or nil. Only that connection may have a buffer with room: if all connections had
// one, each would hold a credit.
func (p *peer) latestFor(length int) *conn {
	for kind := range p.latest {
		c := p.latest[kind].Load()
		if c != nil && (c.framing.wireSize(length) < p.ni.cfg.MinBulk) == (kind == 0) {
			return c
		}
	}
	return nil
}

// post posts a message on the connection that suits it, as the first one in a buffer if need be. It refuses
// a message to a peer that needs more connections: NI.Send dials them.
func (p *peer) post(i *lnd.Inline, payload lnd.Payload) (lnd.Flusher, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed || !p.set.complete() && !p.userFlagged() {
		return nil, false
	}
	c := p.routes.forSize(payload.Length, p.ni.cfg.MinBulk, inlineFlow)
	kind := 1
	if p.routes.isSmall(payload.Length, p.ni.cfg.MinBulk) {
		kind = 0
	}
	p.latest[kind].Store(c)
	if c == nil {
		return nil, false
	}
	f, taken := c.tx.post(i, payload, true)
	if taken {
		p.use(c)
	}
	return f, taken
}

// post encodes a message. The caller has to call Flush of f if that is not nil.
func (w *writer) post(i *lnd.Inline, payload lnd.Payload, open bool) (f lnd.Flusher, taken bool) {
	w.mu.Lock()
	flush, taken := w.encode(i, payload, open)
	w.mu.Unlock()
	if flush {
		f = w
	}
	return f, taken
}

// encode encodes a message. flush is true if the caller has to call Flush. The caller holds mu.
func (w *writer) encode(i *lnd.Inline, payload lnd.Payload, open bool) (flush, taken bool) {
	ni := w.c.peer.ni
	if w.closed != nil || w.queue.Len() > 0 || ni.messages.Closing() {
		return false, false
	}
	size, ok := 0, false
	if w.posted != nil {
		size, ok = w.posted.post(i, payload, w.c)
	}
	if !ok {
		if size, ok = w.postFirst(i, payload, open); !ok {
			return false, false
		}
	}
	w.queued += int64(size)
	w.buffered.messages += i.Messages()
	w.buffered.bytes += i.Messages() * payload.Length
	co := &w.coalescing
	co.posted += size
	co.lazy = co.lazy || i.Lazy
	if w.enough() {
		if w.seizeDelayed() {
			co.vain, co.stretch = co.vain/2, min(co.stretch+1, maxStretch)
			return true, true
		}
		if w.seize() || w.takeOver() {
			return true, true
		}
	}
	if !i.Lazy && w.corked {
		w.corked, w.answers = false, true
		w.startDrain()
		return false, true
	}
	return w.begin(true), true
}

// postFirst encodes a message as the first one of a new batch, if the parameter open says that lnet
// has a credit for that. The caller holds mu.
func (w *writer) postFirst(i *lnd.Inline, payload lnd.Payload, open bool) (size int, ok bool) {
	if !open {
		return 0, false
	}
	b := newBatch()
	if size, ok = b.post(i, payload, w.c); !ok {
		b.release()
		return 0, false
	}
	b.owner = i.Owner
	w.c.peer.ni.messages.Begin() // one Begin for all inline messages of the batch
	if w.posted != nil {
		w.full.push(w.posted)
	}
	w.posted = b
	return size, true
}

// takeOver takes the sending side from the reader that has corked the connection, and reports whether
// it did. The caller holds mu.
func (w *writer) takeOver() bool {
	corked := w.corked
	w.corked = false
	return corked
}

// cork makes inline messages and NOOPs wait for uncork, unless another goroutine writes already: the
// answers to a batch, from handlers and from goroutines that they wake, then leave together. A message
// that is not lazy need not wait for a slow handler: it starts the drain, which writes if it gets a
// processor before uncork is called. A message for the queue is written at once, together with the
// messages that wait. Only the reader corks the connection.
func (w *writer) cork() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.writing {
		w.writing, w.corked = true, true
	}
}

// uncork writes what waits since cork, unless another goroutine has taken the sending side over.
func (w *writer) uncork() {
	w.mu.Lock()
	answers := (w.answers || w.coalescing.on && w.coalescing.lazy) && w.seize()
	switch {
	case !w.takeOver() && !answers:
		w.mu.Unlock()
	case w.empty():
		w.rest()
	default:
		w.mu.Unlock()
		w.Flush()
	}
}

// finishInline ends the inline messages of a batch, which are its first ones. It returns how
// many bytes they have.
func (w *writer) finishInline(b *batch, now time.Duration, err error) (end int) {
	if len(b.records) == 0 {
		return 0
	}
	defer w.c.peer.ni.messages.End()
	b.records[len(b.records)-1].Closes = true
	if err == nil {
		w.left(b, b.records, now)
		return b.inlineBytes
	}
	left := 0 // number of records whose ends are reported
	for n := range b.records {
		r := &b.records[n]
		begin, one, failed := end, w.c.framing.wireSize(int(r.Length)), 0
		for range r.Messages() {
			if end += one; b.failed(end, err) != nil {
				failed++
			}
		}
		if failed > 0 {
			w.cut(b.records[left:n])
			w.left(b, b.records[left:n], now)
			w.cut(b.records[n : n+1])
			w.lost(b, r, failed, b.bytes[begin:begin+one], err)
			left = n + 1
		}
	}
	w.cut(b.records[left:])
	w.left(b, b.records[left:], now)
	return end
}

// cut makes messages of a batch that has failed no longer count as buffered, just before their ends are
// reported. The other messages of the batch, perhaps many, count until their own ends are reported.
func (w *writer) cut(list []lnd.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range list {
		r := &list[n]
		w.buffered.remove(r.Messages(), r.Messages()*int(r.Length))
	}
}

// left reports that inline messages of b have left.
func (w *writer) left(b *batch, list []lnd.Record, now time.Duration) {
	if len(list) > 0 {
		w.c.peer.ni.inline.Left(b.owner, list, w.c.peer.id, now)
	}
}

// lost reports that n of the messages that the record r stands for have failed. bytes has the
// headers and the payload of one of them.
func (w *writer) lost(b *batch, r *lnd.Record, n int, bytes []byte, err error) {
	f := &w.c.framing
	var h wire.Header
	_ = f.parse(&h, bytes[f.msgSize:]) // cannot fail, because this side has encoded the header
	w.c.peer.ni.inline.Lost(b.owner, r, &h, w.c.peer.id, n, bytes[f.overhead():], err)
}
