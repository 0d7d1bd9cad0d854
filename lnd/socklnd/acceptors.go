package socklnd

import (
	"fmt"
	"net/netip"
	"sync"
	"syscall"
)

// acceptors are the acceptors of a driver, one for each local address. NIs of several nets
// that have one address share its acceptor, as all nets of a kernel do.
type acceptors struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]*acceptor // acceptors by their address; guarded by mu
}

// join adds ni to the acceptor of its address, which it starts for the first NI. It fails
// with EEXIST if there is an NI with this NID already.
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

// leave removes ni from its acceptor, which closes after the last one. It does nothing for
// an NI that has left or never joined.
func (as *acceptors) leave(ni *NI) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if ni.acceptor != nil && ni.acceptor.remove(ni) {
		delete(as.byAddr, ni.addr)
	}
}
