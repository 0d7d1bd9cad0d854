package socklnd

import (
	"errors"
	"os"
	"time"

	"ulnet/lnd/readloop"
	"ulnet/lnd/socklnd/ksock"
)

// A follower receives messages of every size. In the middle of one it blocks like the connection's
// own goroutine, unless its wait is over: then it leaves the rest of the message to that
// goroutine.
var _ readloop.Source = (*reader)(nil)

// interrupted is the error of a read in which the follower must not wait for more bytes. The reader
// keeps the bytes that have come, and the connection goes on.
var interrupted = &Error{Err: errors.New("socklnd: the follower waits no more")}

// maxAbsence is how long the read loop may be idle, with no goroutine that reads, while bytes lie unread.
// A follower that writes a large message between two waits needs some hundred microseconds for it.
const maxAbsence = time.Millisecond

// MayHandOver implements readloop.Source. It refuses while bytes that have come are not consumed:
// the connection's own goroutine reads these while the follower works.
func (r *reader) MayHandOver() bool { return !r.unfinished() }

// Await implements readloop.Source: it blocks until a message begins.
func (r *reader) Await() bool {
	if r.unfinished() {
		return true
	}
	r.begun = false
	r.ended = r.fillEmpty()
	return r.ended == nil
}

// Take implements readloop.Source.
func (r *reader) Take() bool {
	r.following = true
	r.ended = r.takeAll()
	r.endBatch()
	r.following = false
	if r.ended == interrupted {
		r.ended = nil
	}
	return r.ended == nil && !r.leftHeld
}

// Unread implements readloop.Source. The end of the connection counts as unread, too.
func (r *reader) Unread() bool { return r.c.stream.unread() }

// ReadAt implements readloop.Source.
func (r *reader) ReadAt() time.Duration { return r.readAt }

// SetReadDeadline implements readloop.Source.
func (r *reader) SetReadDeadline(t time.Time) error { return r.c.net.SetReadDeadline(t) }

// isInterrupt reports whether SetReadDeadline ended a wait.
func isInterrupt(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// takeAll receives the messages that have begun to arrive. It leaves a message that has to be held
// to the connection's own goroutine.
func (r *reader) takeAll() *Error {
	if r.leftPart {
		if err := r.takeRest(); err != nil {
			return err
		}
	}
	for !r.leftHeld && r.r < r.w {
		if err := r.needHeaders(); err != nil {
			return err
		}
		if err := r.message(); err != nil {
			return err
		}
	}
	return nil
}

// needHeaders waits for all headers of the message before any of them is consumed, so that an
// interruption leaves them in the buffer.
func (r *reader) needHeaders() *Error {
	f := &r.c.framing
	if r.w-r.r >= f.overhead() {
		return nil
	}
	r.begun = false
	if f.msgSize > 0 {
		if err := r.need(f.msgSize); err != nil {
			return err
		}
		if h, _, _ := ksock.ParseMsgHeader(r.bytes[r.r:r.w], r.c.bigEndian); h.Type != ksock.LNet {
			return nil // a NOOP, or an unknown message type
		}
	}
	return r.need(f.overhead())
}

// unfinished reports whether a follower leaves work to the goroutine that reads next.
func (r *reader) unfinished() bool { return r.leftHeld || r.leftPart || r.r < r.w }

// beginWait tells the read loop that a follower is about to wait for the rest of a message. It
// returns false if the follower must not wait. The connection's own goroutine may always wait.
func (r *reader) beginWait() bool {
	if !r.following {
		return true
	}
	r.endBatch() // end the batch before the wait: it may contain the message that the follower waits for
	if r.c.loop.BeginWait() {
		return true
	}
	r.c.loop.EndWait()
	return false
}

// endWait tells the read loop that the wait which beginWait announced is over.
func (r *reader) endWait() {
	if r.following {
		r.c.loop.EndWait()
	}
}

// fillMidway does the same as fillEmpty in the middle of a message.
func (r *reader) fillMidway() *Error {
	if !r.beginWait() {
		return interrupted
	}
	err := r.fillEmpty()
	r.endWait()
	if err == nil && r.r == r.w && r.following {
		return interrupted
	}
	return err
}
