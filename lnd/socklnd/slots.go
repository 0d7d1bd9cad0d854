package socklnd

import (
	"fmt"
	"net/netip"
)

// origin is where an accepted connection comes from. Connections of different origins are counted
// separately. Unprivileged processes of a host have limits of their own, so that their connections
// do not use up those of the host's kernel and of root.
type origin struct {
	addr     netip.Addr
	reserved bool // the source port is at most 1023
}

func originOf(remote netip.AddrPort) origin {
	return origin{remote.Addr(), remote.Port() <= maxPrivilegedPort}
}

// slots are the admission slots of an acceptor, whose mu guards them: max_conns in all,
// and max_conns_per_addr for each origin. The second half of all is for origins with few
// connections, so that a few origins that take as many as they can do not keep the others out.
// No connection is ended to make room for another one: its peer may wait for an answer on it.
type slots struct {
	max, maxPerAddr int

	n         int
	perOrigin map[origin]int
}

// slot is the admission slot of an accepted connection, for its lifetime. A dialled connection has
// no slot (nil): no peer can make this side dial.
type slot struct {
	acceptor *acceptor
	from     origin
	taken    bool // whether the slot is in use; guarded by acceptor.mu
}

// fewConns is the least number of connections that each origin may have while half of max_conns are
// in use. It is enough for a peer with conns_per_peer up to 7.
const fewConns = 16

// few returns how many connections each origin may have while half of max_conns are in use.
func (ps *slots) few() int { return max(fewConns, ps.max/1024) }

// full returns the limit that one more connection from this origin would exceed, with an error for
// the log, or ReasonNone.
func (ps *slots) full(from origin) (Reason, error) {
	switch {
	case ps.perOrigin[from] >= ps.maxPerAddr:
		return AddressLimit, fmt.Errorf("%d connections from this address are open (max_conns_per_addr)", ps.perOrigin[from])
	case ps.n >= ps.max:
		return ConnLimit, fmt.Errorf("%d connections are open (max_conns)", ps.n)
	case ps.n >= ps.max/2 && ps.perOrigin[from] >= ps.few():
		return ConnLimit, fmt.Errorf("%d connections are open, and the rest of max_conns is for addresses with fewer than %d", ps.n, ps.few())
	}
	return ReasonNone, nil
}

// take returns a slot. The caller has checked that one is free.
func (ps *slots) take(a *acceptor, from origin) *slot {
	ps.n++
	ps.perOrigin[from]++
	return &slot{acceptor: a, from: from, taken: true}
}

// release makes the slot p free. Further calls with p do nothing.
func (ps *slots) release(p *slot) {
	if !p.taken {
		return
	}
	p.taken = false
	ps.n--
	if ps.perOrigin[p.from]--; ps.perOrigin[p.from] == 0 {
		delete(ps.perOrigin, p.from)
	}
}

// release makes the slot free. Further calls do nothing.
func (p *slot) release() {
	if p == nil {
		return
	}
	p.acceptor.mu.Lock()
	defer p.acceptor.mu.Unlock()
	p.acceptor.slots.release(p)
}
