package socklnd

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// acceptor listens on one address for all NIs that have it (lnet acceptor.c).
// It runs the handshakes of those who connect, each in a goroutine of its own
// with a small buffer. The acceptor request names the NID that is wanted; from
// then on the connection is the affair of the NI that has it.
//
// Until then it is the affair of the eldest NI, the one that has been here the
// longest: that one counts and logs a refusal, and lends clock and tap. So
// each refusal is counted once.
type acceptor struct {
	cfg      Config
	clock    machine.Clock
	listener net.Listener
	closed   chan struct{}  // closed with the listener
	tasks    sync.WaitGroup // run and the handshakes

	mu         sync.Mutex
	nis        []*NI      // the eldest first, none when closed; guarded by mu
	eldest     *NI        // the first of nis, or the last one there was; guarded by mu
	handshakes handshakes // guarded by mu
	places     places     // guarded by mu
}

// acceptPause is how long the acceptor waits when the system cannot accept,
// for want of descriptors mostly.
const acceptPause = 100 * time.Millisecond

// newAcceptor returns an acceptor for ni, which is not running yet.
func newAcceptor(ni *NI, l net.Listener) *acceptor {
	return &acceptor{
		cfg: ni.cfg, clock: ni.clock, listener: l, closed: make(chan struct{}),
		nis: []*NI{ni}, eldest: ni,
		handshakes: handshakes{
			max: ni.cfg.MaxHandshakes, maxPerAddr: ni.cfg.MaxHandshakesPerAddr,
			perOrigin: make(map[origin]int),
		},
		places: places{
			max: ni.cfg.MaxConns, maxPerAddr: ni.cfg.MaxConnsPerAddr,
			perOrigin: make(map[origin]int),
		},
	}
}

// add makes ni known, unless its NID is.
func (a *acceptor) add(ni *NI) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.find(ni.nid) != nil {
		return false
	}
	a.nis = append(a.nis, ni)
	return true
}

// remove ends all handshakes with ni, which gets no more. If ni was the only
// one it ends listening and all handshakes, and returns true.
func (a *acceptor) remove(ni *NI) (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.nis, ni)
	if i < 0 {
		return false
	}
	a.nis = slices.Delete(a.nis, i, i+1)
	last = len(a.nis) == 0
	if last {
		close(a.closed)
		_ = a.listener.Close()
	} else {
		a.eldest = a.nis[0]
	}
	a.handshakes.each(func(h *handshake) {
		if last || h.ni == ni {
			_ = h.net.Close()
		}
	})
	return last
}

// find returns the NI with this NID, or nil. The caller holds a.mu.
func (a *acceptor) find(id nid.NID) *NI {
	for _, ni := range a.nis {
		if ni.nid == id {
			return ni
		}
	}
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
	from, eldest := addrPort(c.RemoteAddr()), a.host(nil)
	if why, err := a.unwelcome(from); why != ReasonNone {
		eldest.rejectAddr(why, from, err)
		_ = c.Close()
		return
	}
	h := &handshake{shake: newShake(eldest, c, false, a.cfg.AcceptTimeout)}
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

// unwelcome returns why nothing is read from a connection.
func (a *acceptor) unwelcome(from netip.AddrPort) (Reason, error) {
	switch {
	case !from.IsValid():
		return NoAddress, nil
	case a.cfg.Accept == AcceptSecure && from.Port() > maxPrivilegedPort:
		return UnprivilegedPort, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.places.full(originOf(from))
}

// enter takes h into the list and gives it a place, and returns those that had
// to go. ok is false when the acceptor is closed.
func (a *acceptor) enter(h *handshake) (evicted []*handshake, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.nis) == 0 {
		return nil, false
	}
	h.place = a.places.take(a, originOf(h.remote))
	evicted = a.handshakes.add(h)
	for _, old := range evicted { // now, so that whoever comes next finds it
		a.places.release(old.place)
	}
	return evicted, true
}

// handshake runs one handshake to its end.
func (a *acceptor) handshake(h *handshake) {
	defer a.leave(h)
	r := a.serve(h)
	if r == nil {
		return
	}
	if r.why != ReasonNone && !h.evicted.Load() { // else that is what has been counted
		a.host(h).rejectAddr(r.why, h.remote, r.err)
	}
	if len(r.answer) > 0 {
		_ = h.write(r.answer) // as far as the other end listens
	}
	h.close()
	h.place.release()
}

// serve runs the passive side of a handshake. If it returns nil the connection
// has become a peer's.
func (a *acceptor) serve(h *handshake) *refusal {
	want, r := readWanted(h.shake)
	if r != nil {
		return r
	}
	ni := a.choose(h, want)
	if ni == nil {
		return &refusal{why: ForeignNID, err: errors.New(want.String())}
	}
	return ni.serve(h.shake)
}

// choose returns the NI with this NID and makes h its affair, or nil.
func (a *acceptor) choose(h *handshake, want nid.NID) *NI {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.ni = a.find(want); h.ni != nil {
		h.ni.tasks.Add(1) // until leave; Shutdown waits for it after remove
	}
	return h.ni
}

// leave takes h out of the list when its handshake has ended.
func (a *acceptor) leave(h *handshake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handshakes.remove(h)
	if h.ni != nil {
		h.ni.tasks.Done()
	}
}

// host returns the NI whose affair h is; with nil the eldest.
func (a *acceptor) host(h *handshake) *NI {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h != nil && h.ni != nil {
		return h.ni
	}
	return a.eldest
}

// load is the number of unfinished handshakes that are ni's affair, and that of
// all accepted connections.
func (a *acceptor) load(ni *NI) (handshakes, accepted int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handshakes.each(func(h *handshake) {
		if h.ni == ni || h.ni == nil && a.eldest == ni {
			handshakes++
		}
	})
	return handshakes, a.places.n
}

func (a *acceptor) isClosed() bool {
	select {
	case <-a.closed:
		return true
	default:
		return false
	}
}

// wait waits for the end of all goroutines if the acceptor is closed.
func (a *acceptor) wait() {
	if a.isClosed() {
		a.tasks.Wait()
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
