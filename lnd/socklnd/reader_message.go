package socklnd

import (
	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// message receives one message.
func (r *reader) message() *Error {
	r.begun, r.sums = false, false
	if r.repeats() {
		r.repeat()
		return r.handUp(0)
	}
	h := ksock.MsgHeader{Type: ksock.LNet}
	if r.c.framing.msgSize > 0 {
		var err *Error
		if h, err = r.messageHeader(); err != nil {
			return err
		}
	}
	r.msgs++
	if h.Type == ksock.Noop {
		return nil
	}
	if err := r.lnetHeader(); err != nil {
		return err
	}
	r.remember(h)
	return r.handUp(h.Request())
}

// messageHeader receives the message header, which precedes the LNet header. A NOOP has nothing else.
func (r *reader) messageHeader() (ksock.MsgHeader, *Error) {
	if err := r.need(ksock.MsgHeaderSize); err != nil {
		return ksock.MsgHeader{}, err
	}
	// the call of need has made sure that the header is complete, so there is no error
	h, _, _ := ksock.ParseMsgHeader(r.bytes[r.r:r.w], r.c.bigEndian)
	r.consume(ksock.MsgHeaderSize)
	if h.Type != ksock.Noop && h.Type != ksock.LNet {
		return h, r.error(BadMessageType, ksock.ErrMsgType)
	}
	if h.Checksum != 0 {
		r.beginSum(h)
		if h.Type == ksock.Noop && r.spoilt() {
			return h, r.error(BadChecksum, nil)
		}
	}
	return h, r.c.checkAcks(h)
}

// beginSum begins to compute the checksum of a message that has one. In version 3 and later
// kernels compare the field with the checksum of the payload alone, a bug, so senders leave the
// field 0.
func (r *reader) beginSum(h ksock.MsgHeader) {
	if r.c.version >= ksock.V3 {
		r.c.peer.ni.counts.count(ForeignChecksum)
		return
	}
	r.sums, r.sum, r.want = true, ksock.ChecksumHeader(h), h.Checksum
}

// spoilt reports whether the checksum of the message is wrong. It is called when the whole message
// has been read.
func (r *reader) spoilt() bool { return r.sums && r.sum != r.want }

// handUp gives lnet a message whose header has been received, receives the payload, and
// acknowledges cookie, if there is one.
func (r *reader) handUp(cookie uint64) *Error {
	d, ni := &r.d, r.c.peer.ni
	r.stopWaiting()
	r.offer(cookie)
	answer, refused := ni.up.Parse(d)
	d.Data = nil
	switch {
	case refused != nil:
		return r.error(BadMessage, refused)
	case answer == lnd.Taken:
		r.r += int(d.Header.PayloadLength)
		if d.Header.Type == wire.Ack {
			r.again()
		}
		return nil
	case answer == lnd.Hold:
		r.endBatch()
	}
	if answer == lnd.Hold && r.following {
		r.leftHeld, r.cookie = true, cookie
		return nil
	}
	if answer == lnd.Hold && !r.hold() {
		return r.error(PeerClosed, nil)
	}
	return r.takePayload(cookie)
}

// takeHeld continues a held message that a follower has left to the connection's own goroutine.
func (r *reader) takeHeld() *Error {
	r.leftHeld = false
	if !r.hold() {
		return r.error(PeerClosed, nil)
	}
	return r.takePayload(r.cookie)
}

// takePayload receives the payload and completes the message.
func (r *reader) takePayload(cookie uint64) *Error {
	r.cookie = cookie
	return r.complete(r.payload())
}

// takeRest continues a payload of which a follower has read a part.
func (r *reader) takeRest() *Error { return r.complete(r.restOfPayload()) }

// complete completes the message when its payload was received, or when that has failed.
func (r *reader) complete(err *Error) *Error {
	r.leftPart = err == interrupted
	if r.leftPart {
		return err
	}
	r.stopWaiting()
	d, ni := &r.d, r.c.peer.ni
	if err == nil && r.spoilt() {
		err = r.error(BadChecksum, nil)
	}
	if err != nil {
		ni.up.Delivered(d, err)
		return err
	}
	if r.cookie != 0 {
		r.c.peer.ack(r.c, r.cookie)
	}
	ni.up.Delivered(d, nil)
	return nil
}

// stopWaiting notes that the reader waits for nothing. It is called before each upcall that may run
// handlers: the peer is not to blame if a handler takes longer than sock_timeout, and no byte is read meanwhile.
func (r *reader) stopWaiting() {
	if r.c.midway.Load() {
		r.c.midway.Store(false)
	}
}

// lnetHeader parses the LNet header and begins the Delivery.
func (r *reader) lnetHeader() *Error {
	f := &r.c.framing
	if err := r.need(f.lnetSize); err != nil {
		return err
	}
	d := &r.d
	if err := f.parse(&d.Header, r.bytes[r.r:r.w]); err != nil {
		return r.error(BadMessage, err)
	}
	r.consume(f.lnetSize)
	d.Repeats = false
	d.From, d.Incarnation, d.Sink, d.ReceivedAt = r.c.peer.id, r.c.incarnation, lnd.Payload{}, r.readAt
	if r.c.peer.userFlagged() {
		d.Header.SrcNID, d.Header.SrcPID = d.From.NID, d.From.PID
	}
	return nil
}
