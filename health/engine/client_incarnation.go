package engine

import (
	"math"
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evicted drops everything at once (CH-61), whatever server says that all have
// evicted this client, and begins the next incarnation.
func (c *Client) evicted(from nid.NID, m *wire.Message) {
	had := slices.ContainsFunc(c.peers, func(p peer) bool { return p.state == attached })
	if had {
		c.stats.Evictions++
		c.tell(Evicted, from, wire.Global)
	}
	c.nextIncarnation(m.Incarnation, had)
}

// nextIncarnation begins after an incarnation that is over. Who was somebody waits a little, so
// that a thousand clients evicted together do not come back together.
func (c *Client) nextIncarnation(last uint64, pause bool) {
	c.own++
	if c.incarnation = max(c.incarnation, last); c.incarnation < math.MaxUint64-1 {
		c.incarnation++
	} else {
		c.incarnation = c.own
	}
	c.begin(pause)
}

// begin begins the incarnation that is set.
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

// stale takes word of a later incarnation of this client, and reports whether that ends this
// one. If it has not connected anywhere, it is the numbers that are wrong, as after a
// clock was put back. Otherwise it ends if its master says so, or most servers: what
// a single one was told, or invents, is hearsay.
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

// ahead takes word that the number of this incarnation is beyond belief. If it follows from
// what a server said, and no server has accepted it, this client goes on with its own.
func (c *Client) ahead() (over bool) {
	if c.incarnation <= c.own || c.isAttached() {
		return false
	}
	c.own++
	c.incarnation = c.own
	c.begin(true)
	return true
}

// laterEpoch takes over the epoch of a choice that a server knows, unless that is so far off
// that the order of choices would be lost.
func (c *Client) laterEpoch(m *wire.Message) {
	const jump = 1 << 10 // of the eight millions that may be between two choices
	if m.Epoch > c.epoch && m.Epoch-c.epoch < jump {
		c.epoch = m.Epoch
	}
}
