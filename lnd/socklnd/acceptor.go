package socklnd

import (
	"net"
	"slices"
	"sync"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// acceptor listens on one address for all NIs that have it (lnet acceptor.c). It runs the
// handshakes of accepted connections, each in a goroutine of its own with a small buffer. The
// acceptor request names the wanted NID; from then on the connection belongs to the NI with this
// NID.
//
// Until then the connection belongs to the oldest NI of the acceptor. That NI provides clock and
// tap, and counts and logs a refusal, so that each refusal is counted once.
type acceptor struct {
	cfg      Config
	opener   *NI // the NI that has opened the listener: accepted connections have the socket options of its configuration, which is cfg
	clock    machine.Clock
	listener net.Listener
	closed   chan struct{}  // closed when the listener is closed
	tasks    sync.WaitGroup // the goroutines of run and of the handshakes

	mu         sync.Mutex
	nis        []*NI      // the oldest first, none when closed; guarded by mu
	oldest     *NI        // the first of nis, or the last NI that was in it; guarded by mu
	handshakes handshakes // handshakes in progress; guarded by mu
	slots      slots      // slots of accepted connections; guarded by mu
}

// newAcceptor returns an acceptor for ni. The acceptor accepts nothing until its caller starts run.
func newAcceptor(ni *NI, l net.Listener) *acceptor {
	return &acceptor{
		cfg: ni.cfg, opener: ni, clock: ni.clock, listener: l, closed: make(chan struct{}),
		nis: []*NI{ni}, oldest: ni,
		handshakes: handshakes{
			max: ni.cfg.MaxHandshakes, maxPerAddr: ni.cfg.MaxHandshakesPerAddr,
			perOrigin: make(map[origin]int),
		},
		slots: slots{
			max: ni.cfg.MaxConns, maxPerAddr: ni.cfg.MaxConnsPerAddr,
			perOrigin: make(map[origin]int),
		},
	}
}

// add adds ni. It returns false if there is an NI with its NID.
func (a *acceptor) add(ni *NI) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.find(ni.nid) != nil {
		return false
	}
	a.nis = append(a.nis, ni)
	return true
}

// remove takes ni out of the acceptor and ends all handshakes with it. If ni was the last NI,
// remove closes the listener, ends all handshakes, and returns true.
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
		a.oldest = a.nis[0]
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

// host returns the NI that h belongs to, or the oldest NI if h is nil or belongs to none.
func (a *acceptor) host(h *handshake) *NI {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h != nil && h.ni != nil {
		return h.ni
	}
	return a.oldest
}

// load returns how many unfinished handshakes belong to ni, and how many accepted connections the
// acceptor has, those of all its NIs.
func (a *acceptor) load(ni *NI) (handshakes, accepted int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handshakes.each(func(h *handshake) {
		if h.ni == ni || h.ni == nil && a.oldest == ni {
			handshakes++
		}
	})
	return handshakes, a.slots.n
}

func (a *acceptor) isClosed() bool {
	select {
	case <-a.closed:
		return true
	default:
		return false
	}
}

// wait waits, if the acceptor is closed, until all its goroutines have ended. If it is not closed,
// wait returns at once.
func (a *acceptor) wait() {
	if a.isClosed() {
		a.tasks.Wait()
	}
}
