package socklnd

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// acceptor listens on the NI's address and runs the handshakes of those who
// connect, each in a goroutine of its own with a small buffer. Their number is
// bounded; when it is reached the oldest makes room, so that silent connections
// keep nobody out.
type acceptor struct {
	ni       *NI
	listener net.Listener // nil with AcceptNone

	mu         sync.Mutex
	closed     bool               // guarded by mu
	handshakes list.List          // of *handshake, oldest first; guarded by mu
	perAddr    map[netip.Addr]int // guarded by mu
}

// handshake is one accepted connection that is not anybody's yet.
type handshake struct {
	*shake
	element *list.Element // nil when it has left the list; guarded by acceptor.mu
	evicted atomic.Bool   // closed to make room
}

// acceptPause is how long the acceptor waits when the system cannot accept,
// for want of descriptors mostly.
const acceptPause = 100 * time.Millisecond

// start begins to listen.
func (a *acceptor) start(ni *NI) error {
	l, err := ni.cfg.Listen(netip.AddrPortFrom(ni.addr, ni.cfg.AcceptPort))
	if err != nil {
		return listenError(err, ni.cfg.AcceptPort)
	}
	a.ni, a.listener = ni, l
	a.perAddr = make(map[netip.Addr]int)
	ni.tasks.Go(a.run)
	return nil
}

// run accepts until the listener is closed.
func (a *acceptor) run() {
	for {
		c, err := a.listener.Accept()
		switch {
		case err == nil:
			a.admit(c)
		case a.isClosed():
			return
		default:
			a.ni.rejectAddr(AcceptFailed, netip.AddrPort{}, err)
			if !a.ni.pause(acceptPause) {
				return
			}
		}
	}
}

// admit starts the handshake of c, unless its port is refused.
func (a *acceptor) admit(c net.Conn) {
	from := addrPort(c.RemoteAddr())
	switch {
	case !from.IsValid():
		a.ni.rejectAddr(NoAddress, from, nil)
		_ = c.Close()
		return
	case a.ni.cfg.Accept == AcceptSecure && from.Port() > maxPrivilegedPort:
		a.ni.rejectAddr(UnprivilegedPort, from, nil)
		_ = c.Close()
		return
	}
	h := &handshake{shake: newShake(a.ni, c, false, a.ni.cfg.AcceptTimeout)}
	evicted, ok := a.enter(h)
	for _, old := range evicted {
		a.ni.rejectAddr(HandshakeLimit, old.remote, nil)
	}
	if !ok {
		h.close()
		return
	}
	a.ni.tasks.Go(func() { a.handshake(h) })
}

// handshake runs one handshake to its end.
func (a *acceptor) handshake(h *handshake) {
	defer a.leave(h)
	r := a.ni.serve(h.shake)
	if r == nil {
		return
	}
	if r.why != ReasonNone && !h.evicted.Load() { // else that is what has been counted
		a.ni.rejectAddr(r.why, h.remote, r.err)
	}
	if len(r.answer) > 0 {
		_ = h.write(r.answer) // as far as the other end listens
	}
	h.close()
}

// enter takes h into the list and closes the oldest handshakes above the
// limits, which it returns. ok is false when the acceptor is closed.
func (a *acceptor) enter(h *handshake) (evicted []*handshake, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, false
	}
	from := h.remote.Addr()
	if a.perAddr[from] >= a.ni.cfg.MaxHandshakesPerAddr {
		evicted = a.evict(evicted, func(old *handshake) bool { return old.remote.Addr() == from })
	}
	if a.handshakes.Len() >= a.ni.cfg.MaxHandshakes {
		evicted = a.evict(evicted, func(*handshake) bool { return true })
	}
	h.element = a.handshakes.PushBack(h)
	a.perAddr[from]++
	return evicted, true
}

// evict closes the oldest handshake that matches and appends it to evicted.
func (a *acceptor) evict(evicted []*handshake, match func(*handshake) bool) []*handshake {
	for e := a.handshakes.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*handshake); match(h) {
			a.remove(h)
			h.evicted.Store(true)
			_ = h.net.Close()
			return append(evicted, h)
		}
	}
	return evicted
}

// leave takes h out of the list when its handshake has ended.
func (a *acceptor) leave(h *handshake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(h)
}

// remove takes h out of the list, once. The caller holds a.mu.
func (a *acceptor) remove(h *handshake) {
	if h.element == nil {
		return
	}
	a.handshakes.Remove(h.element)
	h.element = nil
	from := h.remote.Addr()
	if a.perAddr[from]--; a.perAddr[from] == 0 {
		delete(a.perAddr, from)
	}
}

func (a *acceptor) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// pending is the number of unfinished handshakes.
func (a *acceptor) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.handshakes.Len()
}

// close ends listening and all handshakes.
func (a *acceptor) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.listener == nil {
		return
	}
	a.closed = true
	_ = a.listener.Close()
	for e := a.handshakes.Front(); e != nil; e = e.Next() {
		_ = e.Value.(*handshake).net.Close()
	}
}

// pause waits for d and returns false if the NI ends first.
func (ni *NI) pause(d time.Duration) bool {
	over := make(chan struct{})
	t := ni.clock.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-ni.dying:
		return false
	}
}
