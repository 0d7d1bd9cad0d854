package softroce

import (
	"net/netip"
	"time"
)

// The limits on connections in all states: maxConns for all peers together, maxConnsEach for one peer.
// At a limit a new connection evicts the one that has been ending for longest: it is in dreqSent or
// timeWait, its consumer has forgotten it, and the eviction only means that a lost DREQ is not repeated any more, or
// that a late message is not recognized. So a peer that makes connections and never answers the DREQs that end
// them does not keep others, or itself, from connecting. If no connection is ending, the new one is refused.
//
// Local policy. The consumer bounds the connections that are in use, for each peer and interface, at about
// 500 (o2iblnd). So the limit for one peer suffices for several interfaces, together with the limits on
// connections that are not in use yet.
const (
	maxConns     = 1 << 16
	maxConnsEach = 1 << 12
)

// maxDREQTime is how long this side repeats a DREQ that is not answered; in that time it is sent seven times. IBTA lets
// the peer name the interval in its REQ, which may be hours, and a peer that is dead answers no repetition. A peer that
// has received no DREQ notices by its own requests that the connection has ended. Local policy.
const maxDREQTime = 10 * time.Second

// listOf returns the list in which connections in state s are, or nil.
func (c *cm) listOf(s cmState) *byAge {
	switch s {
	case repSent:
		return &c.grants
	case dreqSent, timeWait:
		return &c.ending
	default:
		return nil
	}
}

// hasRoom reports whether one more connection with a peer can be opened, if need be in place of one that
// is ending.
func (c *cm) hasRoom(peer netip.Addr) bool {
	return (len(c.conns) < c.cfg.MaxConns || c.ending.oldest() != nil) && (c.peers[peer] < c.cfg.MaxConnsEach || c.ending.oldestOf(peer) != nil)
}

// evict evicts connections that are ending, so that one more with a peer can be opened. hasRoom has reported that there
// are such connections if they are needed.
func (c *cm) evict(peer netip.Addr) {
	if c.peers[peer] >= c.cfg.MaxConnsEach {
		c.counters.Crowded++
		c.forget(c.ending.oldestOf(peer))
	}
	if len(c.conns) >= c.cfg.MaxConns {
		c.counters.Crowded++
		c.forget(c.ending.oldest())
	}
}

// count adds n to the number of connections with a peer.
func (c *cm) count(peer netip.Addr, n int) {
	if c.peers[peer] += n; c.peers[peer] == 0 {
		delete(c.peers, peer)
	}
}
