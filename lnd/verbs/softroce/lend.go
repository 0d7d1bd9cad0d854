package softroce

import (
	"errors"
	"net"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/loan"
	"ulnet/lnd/verbs"
)

// The reading of a device's socket can be lent to who waits for a message. All
// connections of the device depend on it, and so it is lent only while little
// arrives, and to who comes back soon.

// lendable is a port whose reading can be lent (wire.Conn).
type lendable interface {
	// lendFor prepares for that, before anything arrives, and returns nil if this port
	// cannot. Then h.settle is called whenever the port is about to wait.
	lendFor(h *hub) lnd.Lender
}

var (
	_ verbs.Lending = (*device)(nil)
	_ lendable      = (*udpPort)(nil)
	_ loan.Source   = (*udpPort)(nil)
)

// Lender lends the reading of the device's socket (verbs.Lending).
func (d *device) Lender() lnd.Lender { return d.hub.lender }

// Of local policy: what may come at a time, and be on the way, for the reading to be lent.
// More is somebody's stream, whose ACKs shall not wait for a borrower.
const (
	mostQuiet    = 8
	mostQuietOut = 16
)

// quiet reports whether nobody but who waits for a small message has to do with what
// arrived last. Who reads the port calls it.
func (h *hub) quiet() bool {
	g := h.ingress
	return !g.bulk && g.arrived <= mostQuiet && h.allowance.used.Load() <= mostQuietOut
}

// hold keeps the ACK of a connection until settle, or until it posts something. Who
// reads the port calls both.
func (h *hub) hold(c *conn) { h.holding = append(h.holding, c) }

// settle sends the ACKs that are held.
func (h *hub) settle() {
	for _, c := range h.holding {
		c.sendACK()
	}
	clear(h.holding)
	h.holding = h.holding[:0]
}

// settleOthers sends them before the reading may be left to a borrower, unless only
// one queue pair was heard, from which he answers.
func (h *hub) settleOthers() {
	if h.ingress.several {
		h.settle()
	}
}

// recall has the port's own goroutine read if nobody does.
func (h *hub) recall() {
	if l, ok := h.lender.(*loan.Lending); ok {
		l.Recall()
	}
}

// urgent reports whether the answer to what was posted has to be read soon: that of a
// transfer or of much else, and any if the borrower stays away. c.mu is held, and the
// packets that could leave have been charged to the allowance.
func (c *conn) urgent(wrs []verbs.SendWR) bool {
	l, ok := c.hub.lender.(*loan.Lending)
	switch {
	case !ok || !l.Lies():
		return false
	case c.hub.allowance.used.Load() > mostQuietOut || c.rc.sends.end.Sub(c.rc.req.unacked) > mostQuietOut:
		return true
	}
	return slices.ContainsFunc(wrs, func(wr verbs.SendWR) bool { return wr.Op == verbs.Write }) || l.Late()
}

// lendFor implements lendable.
func (p *udpPort) lendFor(h *hub) lnd.Lender {
	p.hub = h
	p.lending.Init(p, &p.loans, h.clock) // what is unread for longer than leastProbe comes again
	return &p.lending
}

// between is called by the port's own goroutine when it has handed on what came.
func (p *udpPort) between() {
	if p.hub == nil {
		return
	}
	if p.lending.Asked() {
		p.hub.settleOthers()
		p.lending.Lend(p.closing)
	}
	p.hub.settle()
}

// Lendable implements loan.Source.
func (p *udpPort) Lendable() bool { return p.hub.quiet() }

// Await implements loan.Source.
func (p *udpPort) Await() bool {
	p.hub.settle()
	var err error
	p.list, err = p.socket.receive()
	return !errors.Is(err, net.ErrClosed)
}

// Take implements loan.Source.
func (p *udpPort) Take() bool {
	list := p.list
	p.list = nil
	p.receive(list)
	p.hub.settleOthers()
	return p.hub.quiet()
}

// ReadAt implements loan.Source.
func (p *udpPort) ReadAt() time.Duration { return p.hub.clock.Now() }

// SetReadDeadline implements loan.Source.
func (p *udpPort) SetReadDeadline(t time.Time) error { return p.socket.conn.SetReadDeadline(t) }
