package engine

import (
	"math"
	"time"

	"ulnet/health/wire"
)

// Clients and servers have configurations of their own, so their times can differ. A client
// sends T_ping and T_client + T_elect in Connect and Choose, a server sends T_evict in Accept
// and Chosen. Versions before 2026-11-25 leave these fields 0 and do not read them, so 0 means
// that the time is not known and is not checked. Either side refuses the other if a healthy
// client would be evicted (CH-57, CH-A3, CH-A4). A server always evicts by its own T_evict: the
// times that a client sends can make the server refuse the client, but never give the client
// more time.

// maxTold is the longest time that a field holds, 49 days. Longer times are sent as maxTold.
const maxTold = math.MaxUint32 * time.Millisecond

// leastEvict returns the shortest T_evict by which a server evicts no healthy client with these
// times. Within it, two pings in a row may be lost, or the client may take T_client + T_elect, the
// parameter found, to find another master.
func leastEvict(ping, found, rtt time.Duration) time.Duration { return max(3*ping+rtt, found+ping) }

// told returns the times that a client sends, in milliseconds. They are rounded down, so that
// rounding causes no refusal.
func (t *Timing) told() (ping time.Duration, found uint64) {
	return t.Ping, uint64(max(min(t.Client+t.Elect, maxTold), 0) / time.Millisecond)
}

// evictTold returns the T_evict that a server sends, rounded up to whole milliseconds.
func (t *Timing) evictTold() time.Duration {
	return (min(t.Evict, maxTold) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// tooSlow reports whether a healthy client with the times in its message would be evicted.
func (s *Server) tooSlow(m *wire.Message) bool {
	found := time.Duration(min(m.ServerIncarnation, math.MaxUint32)) * time.Millisecond
	return m.Retry > 0 && s.cfg.Evict < leastEvict(m.Retry, found, s.cfg.RTT)
}

// otherTimes returns the refusal of a client that is too slow for this server. T_evict is in it
// twice: in Epoch, for the client to compare, and in Retry, as the time that the client waits
// before it asks again. Only clients that have sent their times get this refusal: older versions
// do not know the code.
func (s *Server) otherTimes() wire.Message {
	return wire.Message{Code: wire.OtherTimes, Epoch: uint32(s.cfg.evictTold() / time.Millisecond), Retry: s.cfg.Evict}
}

// needs returns the shortest T_evict that a server must have to be this client's master.
func (c *Client) needs() time.Duration {
	return leastEvict(c.cfg.Ping, c.cfg.Client+c.cfg.Elect, c.cfg.RTT)
}

// tooQuick treats the agreement of a server whose T_evict is too short for this client as a
// refusal, and reports whether it did. Normally the server itself refuses, as it knows the
// client's times. But if a shorter RTT is configured at the server, the server finds its T_evict long
// enough.
func (c *Client) tooQuick(p *peer, m *wire.Message) bool {
	candidate := c.phase == electing && p.id == c.election.candidate && m.Sequence == c.election.sequence
	if m.Kind != wire.Accept && !candidate || m.Retry == 0 || m.Retry >= maxTold || m.Retry >= c.needs() {
		return false
	}
	c.farewell(p.id, wire.NotConnected)
	r := &wire.Message{Kind: wire.Reject, Code: wire.OtherTimes, Sequence: m.Sequence, Incarnation: m.Incarnation, Epoch: uint32(m.Retry / time.Millisecond), Retry: m.Retry}
	switch {
	case candidate:
		c.lose(p, wire.OtherTimes)
		c.declined(p, r)
	case p.asking && m.Sequence == p.sequence && c.phase == settled:
		c.rejected(p, r)
	default:
		c.lose(p, wire.OtherTimes)
	}
	return true
}

// toldEvict returns the server's T_evict from a refusal, or 0 if the refusal's code is not
// OtherTimes.
func toldEvict(m *wire.Message) time.Duration {
	if m.Code != wire.OtherTimes {
		return 0
	}
	return time.Duration(m.Epoch) * time.Millisecond
}
