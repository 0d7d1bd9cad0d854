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

// reach returns the sequence number after the last byte of a side: a FIN or RST tells it even if it was captured before
// that byte.
func (f *flow) reach(side Side) uint32 {
	next, last := f.next[side], f.last[side]
	if ahead := int32(last - next); last != 0 && ahead > 0 && ahead <= largestGap {
		return last
	}
	return next
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
