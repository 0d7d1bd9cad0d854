package socklnd

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"ulnet/lnd/readloop"
	"ulnet/lnd/socklnd/ksock"
)

// A follower receives only messages that are in the socket as a whole. Everything else is
// left to the connection's own goroutine.
var _ readloop.Source = (*reader)(nil)

// MayHandOver implements readloop.Source: large messages are left to the own goroutine.
func (r *reader) MayHandOver() bool { return r.window == smallWindow }

// Await implements readloop.Source: it blocks until a message begins.
func (r *reader) Await() bool {
	r.begun = false
	r.ended = r.fillEmpty()
	return r.ended == nil
}

// Take implements readloop.Source.
func (r *reader) Take() bool {
	r.ended = r.takeWhole()
	return r.ended == nil && !r.unfinished()
}

// ReadAt implements readloop.Source.
func (r *reader) ReadAt() time.Duration { return r.readAt }

// SetReadDeadline implements readloop.Source.
func (r *reader) SetReadDeadline(t time.Time) error { return r.c.net.SetReadDeadline(t) }

// isInterrupt reports whether SetReadDeadline ended a wait.
func isInterrupt(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// takeWhole receives the messages that are buffered as a whole. It does not block: one
// that has to be held is left to the own goroutine.
func (r *reader) takeWhole() *Error {
	r.following = true
	defer func() { r.following = false; r.endBatch() }()
	for !r.leftHeld && r.whole() {
		if err := r.message(); err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports whether a follower has left work to the own goroutine.
func (r *reader) unfinished() bool { return r.leftHeld || r.r < r.w }

// whole reports whether the buffer has a whole message.
func (r *reader) whole() bool {
	b, f := r.bytes[r.r:r.w], &r.c.framing
	if f.msgSize > 0 {
		h, rest, err := ksock.ParseMsgHeader(b, r.c.bigEndian)
		if err != nil || h.Type != ksock.LNet {
			return err == nil
		}
		b = rest
	}
	if len(b) < f.lnetSize {
		return false
	}
	payload := binary.LittleEndian.Uint32(b[f.payloadLengthAt():])
	return uint64(len(b)-f.lnetSize) >= uint64(payload)
}
