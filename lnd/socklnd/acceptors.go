package socklnd

import (
	"fmt"
	"net/netip"
	"sync"
	"syscall"
)

// acceptors are a driver's, one for each local address. NIs of several nets
// may have one address; they share its acceptor, as all nets of a kernel do.
type acceptors struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]*acceptor // guarded by mu
}

// join makes ni known to the acceptor of its address. The first one there
// starts it. It fails with EEXIST if there is such an NI already.
func (as *acceptors) join(ni *NI) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.byAddr[ni.addr]
	if a == nil {
		l, err := ni.cfg.Listen(netip.AddrPortFrom(ni.addr, ni.cfg.AcceptPort))
		if err != nil {
			return listenError(err, ni.cfg.AcceptPort)
		}
		a = newAcceptor(ni, l)
		as.byAddr[ni.addr] = a
		a.tasks.Go(a.run)
	} else if !a.add(ni) {
		return fmt.Errorf("socklnd: NI %v: %w", ni.nid, syscall.EEXIST)
	}
	ni.acceptor = a
	return nil
}

// leave ends what the acceptor does for ni. The last one there closes it. An
// NI that has left, or never joined, changes nothing.
func (as *acceptors) leave(ni *NI) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if ni.acceptor != nil && ni.acceptor.remove(ni) {
		delete(as.byAddr, ni.addr)
	}
}
