package softroce

import (
	"errors"
	"net"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/readloop"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/wire"
)

// The read loop of a device's socket can be handed over to a goroutine that waits for a
// message (package readloop). All connections of the device depend on that loop, so it is
// handed over only while little arrives.

// handingOver is implemented by ports (wire.Conn) whose read loop can be handed over.
type handingOver interface {
	// readLoopFor prepares the hand-over before anything arrives. It returns nil if this port
	// does not support it. Otherwise the port calls h.flushACKs each time before it blocks.
	readLoopFor(h *hub) lnd.ReadLoop
}

var (
	_ verbs.ReadLooper = (*device)(nil)
	_ handingOver      = (*udpPort)(nil)
	_ readloop.Source  = (*udpPort)(nil)
)

// ReadLoop returns the read loop of the socket (verbs.ReadLooper).
func (d *device) ReadLoop() lnd.ReadLoop { return d.hub.loop }

// The read loop is handed over while at most maxQuiet packets arrive at a time and at most
// maxQuietOut are in flight; local policy. More packets belong to a stream, whose ACKs must not
// wait for a follower.
const (
	maxQuiet    = 8
	maxQuietOut = 16
)

// quiet reports whether the packets that arrived last are few, and none of them is part of
// a transfer. The goroutine that reads the port calls it.
func (h *hub) quiet() bool {
	g := h.ingress
	return !g.bulk && g.arrived <= maxQuiet && h.allowance.used.Load() <= maxQuietOut
}

// delayACK keeps the ACK of a connection until flushACKs, or until the connection posts
// something. The goroutine that reads the port calls delayACK and flushACKs.
func (h *hub) delayACK(c *conn) { h.delayed = append(h.delayed, c) }

// flushACKs sends all delayed ACKs, with one system call.
func (h *hub) flushACKs() {
	if len(h.delayed) == 0 {
		return
	}
	box := h.boxes.take()
	for _, c := range h.delayed {
		c.frameACK(box)
	}
	clear(h.delayed)
	h.delayed = h.delayed[:0]
	h.transmit(box)
	h.boxes.put(box)
}

// flushOtherACKs sends the delayed ACKs before a follower may stay away with the read loop.
// If packets of only one queue pair arrived it keeps that ACK: the follower's answer will
// carry it.
func (h *hub) flushOtherACKs() {
	if h.ingress.several {
		h.flushACKs()
	}
}

// recall takes an idle read loop back to the port's own goroutine.
func (h *hub) recall() {
	if l, ok := h.loop.(*readloop.Loop); ok {
		l.Recall()
	}
}

// urgent reports whether the answer to wrs has to be read soon while no goroutine reads the port.
// It has to be read soon if one of wrs is a transfer, if much is in flight, or if the follower is
// late. c.mu is held, and the packets that could leave have been charged to the allowance.
func (c *conn) urgent(wrs []verbs.SendWR) bool {
	l, ok := c.hub.loop.(*readloop.Loop)
	switch {
	case !ok || !l.Idle():
		return false
	case c.hub.allowance.used.Load() > maxQuietOut || c.rc.sends.end.Sub(c.rc.req.unacked) > maxQuietOut:
		return true
	}
	return slices.ContainsFunc(wrs, func(wr verbs.SendWR) bool { return wr.Op == verbs.Write }) || l.Late()
}

// readLoopFor implements handingOver.
func (p *udpPort) readLoopFor(h *hub) lnd.ReadLoop {
	p.hub = h
	p.loop.Init(p, &p.watchdog, h.clock) // a peer that gets no answer for longer than minProbe sends a probe
	return &p.loop
}

// passOn passes on what arrived. It returns false if a follower wants the read loop. The port's own
// goroutine calls it.
func (p *udpPort) passOn(list []wire.Datagrams) (more bool) {
	p.receive(list)
	switch {
	case p.hub == nil:
	case p.loop.Requested():
		return false
	default:
		p.hub.flushACKs()
	}
	return true
}

// handOver hands the read loop over to the follower that wants it. The port's own goroutine calls
// it between two batches of packets.
func (p *udpPort) handOver() {
	p.hub.flushOtherACKs()
	p.loop.HandOver(p.closing)
	p.hub.flushACKs()
}

// MayHandOver implements readloop.Source.
func (p *udpPort) MayHandOver() bool { return p.hub.quiet() }

// Await implements readloop.Source.
func (p *udpPort) Await() bool {
	p.hub.flushACKs()
	var err error
	p.list, err = p.socket.receive()
	return !errors.Is(err, net.ErrClosed)
}

// Take implements readloop.Source.
func (p *udpPort) Take() bool {
	list := p.list
	p.list = nil
	p.receive(list)
	p.hub.flushOtherACKs()
	return p.hub.quiet()
}

// Unread implements readloop.Source: whatever a peer sends may not lie unread for long.
func (p *udpPort) Unread() bool { return true }

// ReadAt implements readloop.Source.
func (p *udpPort) ReadAt() time.Duration { return p.hub.clock.Now() }

// SetReadDeadline implements readloop.Source.
func (p *udpPort) SetReadDeadline(t time.Time) error { return p.socket.conn.SetReadDeadline(t) }
