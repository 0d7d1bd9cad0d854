package socklnd

import "ulnet/lnd"

// maxSmall is the size of the largest message that is written from one piece of memory. For
// so few bytes a copy costs less than a gathered write.
const maxSmall = 384

// fitsSmall reports whether m can be written from one piece.
func (w *writer) fitsSmall(m *lnd.Message) bool {
	return m.Payload.Length <= maxSmall-maxHeaderSize && m.Payload.Length == int(m.Header.PayloadLength)
}

// sendSmall writes m, which fits, as far as the socket takes it at once. The
// caller owns the sending side and holds no lock.
func (w *writer) sendSmall(m *lnd.Message) {
	b, ok := w.encodeSmall(m)
	if !ok {
		w.mu.Lock()
		w.queue.Push(m)
		w.mu.Unlock()
		w.flush() // flush finds the error and reports it
		return
	}
	if w.c.flow != nil {
		w.c.flow.Sent(b)
	}
	n, err := w.c.stream.write(b)
	if err == nil && n < len(b) {
		w.batch = w.newSmallBatch(m, b)
		w.wrote(w.batch, n)
		w.startDrain()
		return
	}
	w.c.txBytes.Add(uint64(n))
	w.finishSmall(m, err)
	w.proceed()
}

// encodeSmall encodes the whole message m in w.small.
func (w *writer) encodeSmall(m *lnd.Message) (b []byte, ok bool) {
	if w.small == nil {
		w.small = new([maxSmall]byte)
	}
	b, err := w.c.framing.appendHeaders(w.small[:0], &m.Header, 0)
	if err != nil {
		return nil, false
	}
	b = m.Payload.AppendTo(b)
	if w.c.framing.sums {
		w.c.peer.ni.seal(b)
	}
	return b, true
}

// newSmallBatch makes the batch of a message that is encoded in b and has not
// left whole. The tap has seen it.
func (w *writer) newSmallBatch(m *lnd.Message, b []byte) *batch {
	rest := batches.Get().(*batch)
	rest.size = w.c.framing.wireSize(m)
	rest.used = copy(rest.headers[:], b)
	rest.vec.add(rest.headers[:rest.used:rest.used])
	rest.messages = append(rest.messages, m)
	return rest
}

// finishSmall does what finish does, for one message.
func (w *writer) finishSmall(m *lnd.Message, err error) {
	if err != nil {
		err = w.fail(err)
	}
	w.c.queuedBytes.Add(-w.c.framing.wireSize(m))
	w.c.txMsgs.Add(1)
	w.c.peer.ni.finalize(m, err)
}
