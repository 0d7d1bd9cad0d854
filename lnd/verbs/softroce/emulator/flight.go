package emulator

import (
	"net/netip"
	"time"

	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// flight is a datagram in flight to a port.
type flight struct {
	lands machine.Deadline[*flight]
	to    *emulated
	from  netip.AddrPort
	class uint8
	bytes []byte
}

// Bounds of what a Network keeps: memory for flights, and datagrams that arrive
// in one delivery.
const (
	keptFlights = 4096
	mostAtOnce  = 64
)

// send decides the faults of a datagram. e.mu is held.
func (e *Network) send(p *emulated, b *wire.Burst, d []byte) {
	const headers = 20 + 8
	e.stats.Sent++
	if len(d)+headers > e.cfg.MTU {
		e.stats.TooLong++
		return
	}
	if to := b.To.Addr(); to.IsMulticast() {
		for _, q := range e.groups[to] {
			e.carry(p, q, b, d)
		}
		return
	}
	q := e.ports[b.To]
	if q == nil {
		e.stats.Unknown++
		return
	}
	e.carry(p, q, b, d)
}

// carry puts a datagram in flight to a port, or drops it.
func (e *Network) carry(p, q *emulated, b *wire.Burst, d []byte) {
	if e.cut[[2]netip.Addr{p.cfg.Local.Addr(), q.cfg.Local.Addr()}] {
		e.stats.Cut++
		return
	}
	if e.chance(e.faults.Loss) {
		e.stats.Lost++
		return
	}
	n := 1
	if e.chance(e.faults.Duplicate) {
		e.stats.Duplicated++
		n = 2
	}
	for range n {
		f := e.flight()
		f.to, f.from, f.class, f.bytes = q, p.cfg.Local, b.Class, append(f.bytes[:0], d...)
		at := e.cfg.Clock.Now() + max(e.faults.Delay, time.Microsecond)
		if e.faults.Jitter > 0 {
			at += time.Duration(e.random.Int64N(int64(e.faults.Jitter)))
		}
		if e.chance(e.faults.Reorder) {
			e.stats.Reordered++
			at += e.faults.Hold
		}
		if e.chance(e.faults.Corrupt) {
			e.stats.Corrupted++
			f.bytes[e.random.IntN(len(d))] ^= 1 << e.random.IntN(8)
		}
		e.air.Set(&f.lands, at)
	}
}

func (e *Network) chance(p float64) bool { return p > 0 && e.random.Float64() < p }

func (e *Network) flight() *flight {
	if last := len(e.free) - 1; last >= 0 {
		f := e.free[last]
		e.free = e.free[:last]
		return f
	}
	f := new(flight)
	f.lands.Of = f
	return f
}

// start sets the timer for the next flight. e.mu is held.
func (e *Network) start() {
	if e.firing || e.air.Next() >= e.due {
		return
	}
	e.due = e.air.Next()
	e.alarm.Set(e.cfg.Clock.Now(), e.due)
}

// deliver is called by the timer. It delivers the datagrams that are due.
func (e *Network) deliver() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.firing {
		return
	}
	e.firing, e.due = true, machine.Never
	var landed []*flight
	now := e.cfg.Clock.Now()
	for next := e.air.Pop(now); next != nil; {
		p := next.Of.to
		for landed = landed[:0]; next != nil && next.Of.to == p && len(landed) < mostAtOnce; next = e.air.Pop(now) {
			landed = append(landed, next.Of)
		}
		e.land(p, landed)
	}
	e.firing = false
	e.ended.Broadcast()
	e.start()
}

// land delivers datagrams to a port, without the lock, which is held before and
// after.
func (e *Network) land(p *emulated, landed []*flight) {
	if !p.closed {
		p.list = p.list[:0]
		for _, f := range landed {
			p.list = append(p.list, wire.Datagrams{From: f.from, Class: f.class, Size: len(f.bytes), Bytes: f.bytes})
		}
		e.stats.Delivered += uint64(len(landed))
		e.mu.Unlock()
		p.cfg.Receive(p.list)
		e.mu.Lock()
	}
	if len(e.free) < keptFlights {
		e.free = append(e.free, landed...)
	}
}
