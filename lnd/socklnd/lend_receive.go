package socklnd

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
)

// Receive implements lnd.Lender. It runs the connection's reader in the
// borrower's goroutine, for messages that come whole.
func (l *lending) Receive(b lnd.Borrower) bool {
	if !l.borrow(b) {
		return false
	}
	for {
		err := l.await(b)
		if err == nil {
			err = l.c.rx.takeWhole()
		}
		if err != nil || l.c.rx.unfinished() {
			l.handBack(err)
			return false
		}
		if l.rest(b) {
			return true
		}
	}
}

func (l *lending) borrow(b lnd.Borrower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != readLent || l.asks != b {
		return false
	}
	l.state, l.used = readBorrowed, true
	return true
}

// await waits for bytes as long as b waits. It may return with none.
func (l *lending) await(b lnd.Borrower) (err *Error) {
	l.mu.Lock()
	l.waits = true
	l.mu.Unlock()
	if b.Waiting() {
		err = l.c.rx.await()
	}
	l.mu.Lock()
	interrupted := l.interrupted
	l.waits, l.interrupted = false, false
	l.mu.Unlock()
	if interrupted {
		_ = l.c.net.SetReadDeadline(time.Time{}) // fails only when closed
	}
	return err
}

// handBack leaves the rest, or the end, to the own goroutine.
func (l *lending) handBack(err *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.regret()
	l.own()
}

// rest ends Receive if b need not wait any more; b keeps the right.
func (l *lending) rest(b lnd.Borrower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Waiting() {
		return false
	}
	l.state, l.useless = readLent, 0
	l.watch().resume()
	return true
}

// await waits for the beginning of a message, or an interruption.
func (r *reader) await() *Error {
	r.begun = false
	return r.fillEmpty()
}

// isInterrupt reports whether a wait ended by lending.Interrupt.
func isInterrupt(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// takeWhole receives the messages that are buffered as a whole. It does not
// wait: one that has to be held is left to the own goroutine.
func (r *reader) takeWhole() *Error {
	r.borrowed = true
	defer func() { r.borrowed = false }()
	for !r.leftHeld && r.whole() {
		if err := r.message(); err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports whether a borrower has left something to be done.
func (r *reader) unfinished() bool { return r.leftHeld || r.r < r.w }

// whole reports whether a whole message is buffered.
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
