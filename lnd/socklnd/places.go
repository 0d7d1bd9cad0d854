package socklnd

import (
	"fmt"
	"net/netip"
)

// origin is where an accepted connection comes from, as far as limits are
// concerned: what unprivileged processes of a host open takes no place from
// what its kernel, or root, opens.
type origin struct {
	addr     netip.Addr
	reserved bool // port up to 1023
}

func originOf(remote netip.AddrPort) origin {
	return origin{remote.Addr(), remote.Port() <= maxPrivilegedPort}
}

// places are what an acceptor, whose mu guards them, has for connections:
// max_conns in all, and max_conns_per_addr for each origin.
type places struct {
	max, maxPerAddr int

	n         int
	perOrigin map[origin]int
}

// place is an accepted connection's, from the accept to the end of its incarnation.
// That of a dialled connection is nil: whom this side dials is its own affair.
type place struct {
	acceptor *acceptor
	from     origin
	taken    bool // guarded by acceptor.mu
}

// full returns the limit that a connection from there would exceed, and words
// for the log, or ReasonNone.
func (ps *places) full(from origin) (Reason, error) {
	switch {
	case ps.perOrigin[from] >= ps.maxPerAddr:
		return AddressLimit, fmt.Errorf("%d connections from this address are open (max_conns_per_addr)", ps.perOrigin[from])
	case ps.n >= ps.max:
		return ConnLimit, fmt.Errorf("%d connections are open (max_conns)", ps.n)
	}
	return ReasonNone, nil
}

// take returns a place. The caller has asked whether one is free.
func (ps *places) take(a *acceptor, from origin) *place {
	ps.n++
	ps.perOrigin[from]++
	return &place{acceptor: a, from: from, taken: true}
}

// release gives p back, once.
func (ps *places) release(p *place) {
	if !p.taken {
		return
	}
	p.taken = false
	ps.n--
	if ps.perOrigin[p.from]--; ps.perOrigin[p.from] == 0 {
		delete(ps.perOrigin, p.from)
	}
}

// release gives the place back, once.
func (p *place) release() {
	if p == nil {
		return
	}
	p.acceptor.mu.Lock()
	defer p.acceptor.mu.Unlock()
	p.acceptor.places.release(p)
}
