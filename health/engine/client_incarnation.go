package engine

import (
	"math"
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evicted handles a message by which a server says that all servers have evicted this client. The
// word of one server, master or not, is enough: the client drops all connections and begins the next
// incarnation (CH-61).
func (c *Client) evicted(from nid.NID, m *wire.Message) {
	had := slices.ContainsFunc(c.peers, func(p peer) bool { return p.state == attached })
	if had {
		c.stats.Evictions++
		c.tell(Evicted, from, wire.Global)
	}
	c.nextIncarnation(m.Incarnation, had)
}

// nextIncarnation begins an incarnation after one that has ended, with a number above last. If pause is
// set, the client first waits for a random time, so that clients that are evicted together do not all
// connect at once.
func (c *Client) nextIncarnation(last uint64, pause bool) {
	c.own++
	if c.incarnation = max(c.incarnation, last); c.incarnation < math.MaxUint64-1 {
		c.incarnation++
	} else {
		c.incarnation = c.own
	}
	c.begin(pause)
}

// begin starts an election in the present incarnation.
func (c *Client) begin(pause bool) {
	c.epoch, c.agreed = 0, 0
	kept := c.peers[:0]
	for _, p := range c.peers {
		if p.wanted {
			kept = append(kept, peer{id: p.id, wanted: true})
		}
	}
	round := c.election.round
	c.peers, c.master, c.token = kept, nid.NID{}, nil
	c.elect(election{round: round})
	if pause {
		c.election.at = c.now + c.jitter(c.cfg.Try)
	}
}

// stale handles a server's report of a later incarnation of this client. The result over tells
// whether this incarnation ends. If the client is connected to no server, it takes a higher
// number, because its own is too low, for instance since the clock was put back. If it is connected,
// this incarnation ends only if its master, or more than half of the servers, report a later one: the
// report of a single other server is not reliable.
func (c *Client) stale(from nid.NID, m *wire.Message) (over bool) {
	if !c.isAttached() {
		c.nextIncarnation(m.Incarnation, true)
		return true
	}
	says := 0
	c.peer(from).stale = true
	for i := range c.peers {
		if c.peers[i].stale {
			says++
		}
	}
	if from != c.master && 2*says <= len(c.cfg.Servers) {
		return false
	}
	c.supersede(from, m)
	return true
}

func (c *Client) isAttached() bool {
	return slices.ContainsFunc(c.peers, func(p peer) bool { return p.state == attached })
}

// ahead handles a refusal because this incarnation's number is too high. If the client has this
// number because of a server's report, and no server has accepted it, the client returns to its
// own number.
func (c *Client) ahead() (over bool) {
	if c.incarnation <= c.own || c.isAttached() {
		return false
	}
	c.own++
	c.incarnation = c.own
	c.begin(true)
	return true
}

// laterEpoch adopts the epoch of a choice that a server has reported, unless it is too far
// ahead to be the client's own.
func (c *Client) laterEpoch(m *wire.Message) {
	if m.Epoch > c.epoch && m.Epoch-c.epoch < epochJump {
		c.epoch = m.Epoch
	}
}

// takesBack handles a refusal because another process is connected under this client's id. If
// the id is derived from this client's own process, servers accept this client's next
// incarnation without asking the other process. So the reason for this refusal can only be that
// both have the same incarnation number.
func (c *Client) takesBack() (over bool) {
	if c.isAttached() || c.cfg.ID != wire.ClientIDOf(c.cfg.From.String()) {
		return false
	}
	c.nextIncarnation(c.incarnation, true)
	return true
}
