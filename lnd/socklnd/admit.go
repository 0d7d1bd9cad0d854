package socklnd

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"ulnet/lnet/nid"
)

// acceptPause is how long the acceptor waits when the system cannot accept, usually because the
// process has no file descriptor left.
const acceptPause = 100 * time.Millisecond

// run accepts connections until the listener is closed.
func (a *acceptor) run() {
	for {
		c, err := a.listener.Accept()
		switch {
		case err == nil:
			a.admit(c)
		case a.isClosed():
			return
		default:
			a.host(nil).rejectAddr(AcceptFailed, netip.AddrPort{}, err)
			if !a.pause(acceptPause) {
				return
			}
		}
	}
}

// admit starts the handshake of c, unless its port is refused or there are too
// many connections.
func (a *acceptor) admit(c net.Conn) {
	from, oldest := addrPort(c.RemoteAddr()), a.host(nil)
	if why, err := a.refuses(from); why != ReasonNone {
		oldest.rejectAddr(why, from, err)
		_ = c.Close()
		return
	}
	h := &handshake{shake: newShake(oldest, c, false, a.cfg.AcceptTimeout)}
	evicted, ok := a.enter(h)
	for _, old := range evicted {
		a.host(old).rejectAddr(HandshakeLimit, old.remote, nil)
	}
	if !ok {
		h.close()
		return
	}
	a.tasks.Go(func() { a.handshake(h) })
}

// refuses returns the reason and the error if a connection has to be closed before anything is read
// from it.
func (a *acceptor) refuses(from netip.AddrPort) (Reason, error) {
	switch {
	case !from.IsValid():
		return NoAddress, nil
	case a.cfg.Accept == AcceptSecure && from.Port() > maxPrivilegedPort:
		return UnprivilegedPort, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slots.full(originOf(from))
}

// enter adds h to the list and gives it a slot. It returns the handshakes that it evicted to make
// room. ok is false when the acceptor is closed.
func (a *acceptor) enter(h *handshake) (evicted []*handshake, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.nis) == 0 {
		return nil, false
	}
	h.slot = a.slots.take(a, originOf(h.remote))
	evicted = a.handshakes.add(h)
	for _, old := range evicted { // release the slot at once, so that the next connection finds it free
		a.slots.release(old.slot)
	}
	return evicted, true
}

// handshake runs the handshake h to its end. If it fails, the refusal is counted and answered, and
// the connection closed.
func (a *acceptor) handshake(h *handshake) {
	defer a.leave(h)
	r := a.serve(h)
	if r == nil {
		return
	}
	if r.why != ReasonNone && !h.evicted.Load() { // the eviction of an evicted handshake has been counted already
		a.host(h).rejectAddr(r.why, h.remote, r.err)
	}
	if len(r.answer) > 0 {
		_ = h.write(r.answer) // fails if the other end does not listen any more
	}
	h.close()
	h.slot.release()
}

// serve runs the passive side of a handshake. A nil result means that the connection now belongs
// to a peer.
func (a *acceptor) serve(h *handshake) *refusal {
	want, r := readWanted(h.shake)
	if r != nil {
		return r
	}
	ni := a.choose(h, want)
	if ni == nil {
		return &refusal{why: ForeignNID, err: errors.New(want.String())}
	}
	if ni != a.opener {
		ni.cfg.sockets().retune(h.net, a.cfg.sockets())
	}
	return ni.serve(h.shake, func() bool { return a.settle(h) })
}

// settle takes h out of the list before its connection is given to the peer: from then on it must not be
// evicted. It returns false if h has been evicted already.
func (a *acceptor) settle(h *handshake) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handshakes.remove(h)
	return !h.evicted.Load()
}

// choose returns the NI with this NID, or nil. From now on h belongs to it.
func (a *acceptor) choose(h *handshake, want nid.NID) *NI {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.ni = a.find(want); h.ni != nil {
		h.ni.peers.Tasks.Add(1) // leave calls Done for this; Shutdown of the NI waits for that after it has removed the NI
	}
	return h.ni
}

// leave ends h, and takes it out of the list unless settle has done so.
func (a *acceptor) leave(h *handshake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handshakes.remove(h)
	if h.ni != nil {
		h.ni.peers.Tasks.Done()
	}
}

// pause waits for d and returns false if the acceptor is closed first.
func (a *acceptor) pause(d time.Duration) bool {
	over := make(chan struct{})
	t := a.clock.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-a.closed:
		return false
	}
}
