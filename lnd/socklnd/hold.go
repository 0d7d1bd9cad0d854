package socklnd

import (
	"net"
	"slices"
	"sync"
	"time"
)

// held lets a reader wait for NI.Recv. Meanwhile the reader takes nothing from its connection, but
// it notices when the other end closes: it waits at the socket, and Recv interrupts this wait by a
// read deadline in the past.
type held struct {
	mu       sync.Mutex
	resume   chan struct{} // gets a value when Recv is called; nil before the first held message; guarded by mu
	watching net.Conn      // connection whose end the reader waits for; nil: none; guarded by mu
}

// resumed returns the channel resume. It makes the channel when the connection has its first held
// message. The caller holds mu.
func (h *held) resumed() chan struct{} {
	if h.resume == nil {
		h.resume = make(chan struct{}, 1)
	}
	return h.resume
}

// wait returns the channel that gets a value when Recv is called.
func (h *held) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resumed()
}

// recv continues the message that lnet has held.
func (r *reader) recv() { r.held.recv() }

// recv resumes the reader under mu, so that the deadline never interrupts the wait for the
// next held message.
func (h *held) recv() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.resumed() <- struct{}{}:
	default: // the reader has not taken the value of an earlier call: the connection has ended
		return
	}
	if h.watching != nil {
		_ = h.watching.SetReadDeadline(time.Unix(1, 0))
	}
}

// hold waits for NI.Recv. While it waits, nothing is read from the connection, and the large buffer
// is given back. If the connection ends before Recv is called, hold asks lnet to give the message up,
// and returns false if lnet does so.
func (r *reader) hold() bool {
	select {
	case <-r.held.wait():
		return true
	default:
	}
	var ahead []byte
	if r.r < r.w {
		ahead = slices.Clone(r.bytes[r.r:r.w])
	}
	r.releaseBuffer()
	if !r.awaitRecv() {
		return false
	}
	if len(ahead) > 0 {
		r.use(getReadBuffer())
		r.w = copy(r.bytes, ahead)
	}
	return true
}

func (r *reader) awaitRecv() bool {
	if r.held.watch(r.c) {
		r.c.peer.fail(r.c, newError(PeerClosed, r.c.peer.id, nil))
	}
	select {
	case <-r.held.wait():
		return true
	case <-r.c.dead:
	}
	if r.c.peer.ni.up.Abandon(&r.d) {
		return false
	}
	<-r.held.wait() // lnet is about to call Recv; after that, reading the payload fails
	return true
}

// watch waits until the other end of c has hung up, and then returns true. It returns false
// when recv is called or c is closed.
func (h *held) watch(c *conn) (gone bool) {
	h.mu.Lock()
	if len(h.resume) > 0 {
		h.mu.Unlock()
		return false
	}
	h.watching = c.net
	h.mu.Unlock()
	gone = c.stream.awaitHangUp()
	h.mu.Lock()
	h.watching = nil
	h.mu.Unlock()
	_ = c.net.SetReadDeadline(time.Time{})
	return gone
}
