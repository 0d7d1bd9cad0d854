package linkwatch

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// Reasons why a link is down. The error that [Watcher.State] returns wraps one.
var (
	ErrDown      = errors.New("is down")
	ErrNoCarrier = errors.New("has no carrier")
	ErrGone      = errors.New("is gone")
	ErrNoAddress = errors.New("has lost the address")
)

// StateError says why a link is down.
type StateError struct {
	Interface string     // name of the network interface, such as "eth0"
	Addr      netip.Addr // IP address that the NI uses
	Reason    error      // the reason: one of ErrDown, ErrNoCarrier, ErrGone and ErrNoAddress
}

func (e *StateError) Error() string {
	if e.Reason == ErrNoAddress {
		return fmt.Sprintf("interface %s %v %v", e.Interface, e.Reason, e.Addr)
	}
	return fmt.Sprintf("interface %s %v", e.Interface, e.Reason)
}

// Unwrap returns the reason.
func (e *StateError) Unwrap() error { return e.Reason }

// table is what the kernel has told of links and addresses.
type table struct {
	links map[uint32]*link
	addrs map[netip.Addr][]owner
	homes map[netip.Addr]home // for each address with which state was called: the interface that had it last
	round uint32              // number of the latest round of dumps: a link or address that a round does not name is gone
	told  bool                // some link had flagLowerUp, so the kernel reports carriers
}

type link struct {
	name  string
	mtu   uint32 // the state of a link does not depend on it, but drivers that send datagrams use the MTU
	flags uint32
	round uint32
}

// owner names an interface that has an address, and the latest round that reported this.
type owner struct{ index, round uint32 }

// home is the interface that had an address last.
type home struct {
	index uint32
	name  string
}

func newTable() table {
	return table{links: map[uint32]*link{}, addrs: map[netip.Addr][]owner{}, homes: map[netip.Addr]home{}}
}

// take updates the table from a message, and reports whether that changed anything.
func (t *table) take(m message) (news bool) {
	switch m.kind {
	case typeNewLink:
		l := t.links[m.index]
		if l == nil {
			l, news = new(link), true
			t.links[m.index] = l
		}
		news = news || l.flags != m.flags
		l.flags, l.round = m.flags, t.round
		t.told = t.told || m.flags&flagLowerUp != 0
		if len(m.name) > 0 && l.name != string(m.name) {
			l.name, news = string(m.name), true
		}
		if m.mtu != 0 && l.mtu != m.mtu {
			l.mtu, news = m.mtu, true
		}
		return news
	case typeDelLink:
		_, news = t.links[m.index]
		delete(t.links, m.index)
		return news
	case typeNewAddr:
		news = !t.disown(m.addr, m.index)
		t.addrs[m.addr] = append(t.addrs[m.addr], owner{m.index, t.round})
		return news
	case typeDelAddr:
		return t.disown(m.addr, m.index)
	}
	return false
}

// disown takes an address away from an interface, and reports whether the interface had it.
func (t *table) disown(a netip.Addr, index uint32) bool {
	before := len(t.addrs[a])
	rest := slices.DeleteFunc(t.addrs[a], func(o owner) bool { return o.index == index })
	if len(rest) == 0 {
		delete(t.addrs, a)
	} else {
		t.addrs[a] = rest
	}
	return len(rest) < before
}

// sweepLinks and sweepAddrs forget what the dump of this round has not named.
func (t *table) sweepLinks() {
	maps.DeleteFunc(t.links, func(_ uint32, l *link) bool { return l.round != t.round })
}

func (t *table) sweepAddrs() {
	for a, owners := range t.addrs { // any order: each address is judged by itself
		for _, o := range slices.Clone(owners) {
			if o.round != t.round {
				t.disown(a, o.index)
			}
		}
	}
}

// state returns the reason why nothing can be sent from an address, or nil. If no interface has
// the address, nor had it at an earlier call, the address counts as up: it can be local all the
// same, because a route can make a whole network local, as the route of 127.0.0.0/8
// does.
func (t *table) state(a netip.Addr) error {
	owners := t.addrs[a]
	if len(owners) == 0 {
		return t.stateWithout(a)
	}
	var down *StateError
	for _, o := range owners {
		l := t.links[o.index]
		if l == nil {
			continue // the interface is gone, and the kernel is about to report that its address is gone, too
		}
		reason := t.reason(l)
		if reason == nil {
			t.homes[a] = home{o.index, l.name}
			return nil
		}
		down = &StateError{l.name, a, reason}
	}
	if down == nil {
		return t.stateWithout(a)
	}
	if _, known := t.homes[a]; !known {
		t.homes[a] = home{owners[0].index, down.Interface}
	}
	return down
}

// stateWithout returns the state of an address that no interface has.
func (t *table) stateWithout(a netip.Addr) error {
	h, known := t.homes[a]
	if !known {
		return nil
	}
	l := t.links[h.index]
	switch {
	case l == nil:
		return &StateError{h.name, a, ErrGone}
	case t.reason(l) == ErrDown: // an interface that is down loses its IPv6 addresses
		return &StateError{l.name, a, ErrDown}
	}
	return &StateError{l.name, a, ErrNoAddress}
}

// reason returns the reason why a link is down, nil if it is up. Kernels that do not report
// carriers, such as gVisor's, set flagRunning alone. Linux sets and clears flagRunning as
// well, but later than flagLowerUp.
func (t *table) reason(l *link) error {
	carrier := uint32(flagLowerUp)
	if !t.told {
		carrier = flagRunning
	}
	switch {
	case l.flags&flagUp == 0:
		return ErrDown
	case l.flags&carrier == 0 || l.flags&flagDormant != 0:
		return ErrNoCarrier
	}
	return nil
}
