// Package emulator is a network in memory for softroce devices: it delays, loses, repeats,
// reorders and damages datagrams by a seed, in virtual time if its clock is a [Clock]. It is
// for tests and examples; no daemon uses it.
package emulator

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// Faults are what a Network does to datagrams. The zero value is a perfect wire.
type Faults struct {
	Delay  time.Duration // delay of each datagram; at least a microsecond
	Jitter time.Duration // upper bound of a random delay added to Delay; datagrams sent within this time of each other may be reordered
	// Loss, Duplicate, Corrupt and Reorder are probabilities. A corrupted datagram has
	// one bit changed; a reordered one is delayed by Hold.
	Loss, Duplicate, Corrupt, Reorder float64
	Hold                              time.Duration // additional delay of a reordered datagram
}

// Config has the parameters of a Network. The zero value of a field other than Clock means its
// default.
type Config struct {
	// Clock is required: a Clock of this package or a real one.
	Clock machine.Clock
	Seed  uint64 // seed of all random decisions
	MTU   int    // MTU of the interfaces, IP header included; 0: 4200
	// Uncut makes the ports announce that they cut bursts into datagrams, and nevertheless
	// refuse bursts with wire.ErrUncut.
	Uncut  bool
	Faults Faults // faults at the start; see SetFaults
}

// Stats has the counters of datagrams.
type Stats struct {
	Sent       uint64 // datagrams that ports sent
	Delivered  uint64 // datagrams delivered to ports, duplicates included
	Lost       uint64 // datagrams lost at random
	Cut        uint64 // datagrams between nodes that cannot reach each other
	Duplicated uint64 // datagrams delivered twice at random
	Corrupted  uint64 // datagrams damaged at random
	Reordered  uint64 // datagrams delayed at random, so that others overtake them
	Unknown    uint64 // unicast datagrams to an address and UDP port that no node has opened
	TooLong    uint64 // datagrams longer than the MTU
}

// Network is a network in memory (wire.Network): it delays, loses, repeats,
// reorders and damages what it carries, alike in all runs of one seed if its clock
// is a virtual one. Ports receive in the goroutine of a timer of the clock, one at
// a time.
type Network struct {
	cfg Config

	mu     sync.Mutex // guards all fields below
	faults Faults
	random *rand.Rand
	ports  map[netip.AddrPort]*emulated
	groups map[netip.Addr][]*emulated
	cut    map[[2]netip.Addr]bool
	stats  Stats
	air    machine.Deadlines[*flight]
	free   []*flight
	alarm  machine.Alarm
	due    time.Duration // time that alarm is set to
	firing bool
	ended  sync.Cond // signaled when a delivery has ended
}

// New returns a network without ports.
func New(cfg Config) *Network {
	cfg.MTU = cmp.Or(cfg.MTU, 4200)
	e := &Network{
		cfg: cfg, faults: cfg.Faults, random: rand.New(rand.NewPCG(cfg.Seed, 0x1b2d9a5)), ports: make(map[netip.AddrPort]*emulated),
		groups: make(map[netip.Addr][]*emulated), cut: make(map[[2]netip.Addr]bool), due: machine.Never,
	}
	e.ended.L = &e.mu
	e.alarm = machine.Alarm{Clock: cfg.Clock, Call: e.deliver}
	return e
}

// SetFaults changes the faults of datagrams from now on.
func (e *Network) SetFaults(f Faults) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = f
}

// Cut makes two nodes unreachable for each other, in both directions, or reachable
// again.
func (e *Network) Cut(a, b netip.Addr, cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut[[2]netip.Addr{a, b}], e.cut[[2]netip.Addr{b, a}] = cut, cut
}

// Stats returns the network's counters.
func (e *Network) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// emulated is a port of the network (wire.Conn).
type emulated struct {
	net *Network
	cfg wire.Config

	// Guarded by the lock of the network:
	closed bool
	list   []wire.Datagrams // memory for the datagrams of one delivery
}

// Open opens a port (wire.Network).
func (e *Network) Open(cfg wire.Config) (wire.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &emulated{net: e, cfg: cfg}
	if cfg.Group.IsValid() {
		e.groups[cfg.Group] = append(e.groups[cfg.Group], p)
		return p, nil
	}
	if e.ports[cfg.Local] != nil {
		return nil, fmt.Errorf("port %v: %w", cfg.Local, syscall.EADDRINUSE)
	}
	e.ports[cfg.Local] = p
	return p, nil
}

// Attr describes the port (wire.Conn).
func (p *emulated) Attr() wire.Attr {
	const plenty = 16 << 20
	return wire.Attr{Local: p.cfg.Local, MTU: p.net.cfg.MTU, Cut: true, ReceiveBuffer: plenty}
}

// Send sends bursts (wire.Conn).
func (p *emulated) Send(list []wire.Burst) (int, error) {
	e := p.net
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.closed {
		return 0, syscall.EBADF
	}
	for i := range list {
		b := &list[i]
		if b.Segments > 1 && e.cfg.Uncut {
			return i, wire.ErrUncut
		}
		for rest := b.Bytes; len(rest) > 0; {
			d := rest[:min(b.Size, len(rest))]
			rest = rest[len(d):]
			e.send(p, b, d)
		}
	}
	e.start()
	return len(list), nil
}

// Close closes the port (wire.Conn).
func (p *emulated) Close() error {
	e := p.net
	e.mu.Lock()
	defer e.mu.Unlock()
	p.closed = true
	if g := p.cfg.Group; g.IsValid() {
		e.groups[g] = slices.DeleteFunc(slices.Clone(e.groups[g]), func(q *emulated) bool { return q == p })
	} else {
		delete(e.ports, p.cfg.Local)
	}
	for e.firing {
		e.ended.Wait()
	}
	return nil
}
