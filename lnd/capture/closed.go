package capture

import (
	"net/netip"

	"ulnet/lnd/capture/internal/headers"
)

// closedFlows remembers the last sequence numbers of closed connections, to distinguish
// their late packets from those of a new connection.
type closedFlows struct {
	last map[tuple]closedFlow
	ring []closedFlow
	at   int
}

type closedFlow struct {
	id   int
	key  tuple
	next [2]uint32 // sequence number after the last byte of each end, in the order of key
	syn  [2]bool
	isn  [2]uint32
}

func newClosedFlows(n int) closedFlows {
	return closedFlows{last: map[tuple]closedFlow{}, ring: make([]closedFlow, n)}
}

func (c *closedFlows) add(f *flow) {
	oldest := &c.ring[c.at]
	if c.last[oldest.key].id == oldest.id {
		delete(c.last, oldest.key)
	}
	*oldest = closedFlow{id: f.conn.ID, key: f.key}
	for i, end := range f.key {
		side := f.sideOf(end)
		oldest.next[i], oldest.syn[i], oldest.isn[i] = f.reach(side), f.syn[side], f.isn[side]
	}
	c.last[f.key] = *oldest
	c.at = (c.at + 1) % len(c.ring)
}

// reach returns the sequence number after the last byte of a side.
func (f *flow) reach(side Side) uint32 {
	if s := &f.streams[side]; s.begun {
		return s.next
	}
	return f.next[side]
}

// covers reports whether a packet brings nothing new: a SYN that repeats the
// last one, or bytes that were seen.
func (c *closedFlows) covers(key tuple, src netip.AddrPort, tcp *headers.TCP) bool {
	closed, ok := c.last[key]
	if !ok {
		return false
	}
	i := 0
	if src == key[1] {
		i = 1
	}
	if tcp.SYN {
		return closed.syn[i] && closed.isn[i] == tcp.Seq
	}
	return int32(tcp.Seq+uint32(len(tcp.Payload))-closed.next[i]) <= 0
}

// reset handles a RST. If bytes before it are missing, it waits for them, as a FIN does. If the receiver has acknowledged
// bytes behind it, more than a FIN, the receiver ignores it (RFC 5961), and so does reset. Any other RST ends the flow.
func (d *Dissector) reset(f *flow, side Side, tcp *headers.TCP) {
	s := &f.streams[side]
	tcp.Payload = nil
	switch {
	case s.begun && !s.ended && int32(tcp.Seq-s.next) > 0:
		d.assemble(f, side, tcp)
		if f.acceptable(side, tcp.Seq) {
			f.reset[side], f.cutAt = true, f.seen
			d.listEnding(f)
		}
	case s.begun && s.heard(f.seen) && int32(tcp.Seq-s.acked) < -1:
		d.counts.Outside++
	default:
		if tcp.ACK {
			d.guard(f, func() { d.assembler.acknowledged(f, side.Other(), tcp.Ack, true) })
		}
		d.end(f, ErrReset)
	}
}

// acceptable reports whether a segment of a side that begins at seq can be in the receive window.
func (f *flow) acceptable(side Side, seq uint32) bool {
	s := &f.streams[side]
	return !s.begun || !s.heard(f.seen) || int32(seq-s.next) <= f.reachable(side)
}

// isReset reports whether a RST and all bytes before it have been processed.
func (f *flow) isReset() bool {
	return f.reset[Initiator] && f.closed[Initiator] || f.reset[Acceptor] && f.closed[Acceptor]
}

// listEnding notes that f ends if no more packets come, see endFinished.
func (d *Dissector) listEnding(f *flow) {
	if !f.listed {
		f.listed, d.ending = true, append(d.ending, f)
	}
}

// endFinished ends flows that have FINs or a RST behind missing bytes, once no packet has come for reorderTimeout. But
// if packets came for longer than roundTrip after a RST, its receiver has ignored it, and the flow goes on.
func (d *Dissector) endFinished() {
	waiting := d.ending[:0]
	for _, f := range d.ending {
		switch {
		case d.flows[f.key] != f:
		case d.age(f.seen) < reorderTimeout:
			waiting = append(waiting, f)
		case f.fin == both || f.seen <= f.cutAt+roundTrip:
			d.end(f, nil)
		default:
			f.listed, f.reset = false, [2]bool{}
		}
	}
	clear(d.ending[len(waiting):])
	d.ending = waiting
}
