package health

import (
	"slices"

	"ulnet/lnet/nid"
)

// evicted drops everything at once (CH-61), whatever server says that all have
// evicted this client, and begins the next life.
func (c *Client) evicted(from nid.NID, m *Message) {
	had := slices.ContainsFunc(c.peers, func(p peer) bool { return p.state == attached })
	if had {
		c.stats.Evictions++
		c.tell(Evicted, from, Global)
	}
	c.nextLife(m.Incarnation, had)
}

// nextLife begins after a life that is over. Who was somebody waits a little, so
// that a thousand clients evicted together do not come back together.
func (c *Client) nextLife(last uint64, pause bool) {
	c.life = max(c.life, last) + 1
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

// stale takes word of a later life of this client. If this one has not connected
// anywhere, it is the numbers that are wrong, as after a clock was put back.
func (c *Client) stale(from nid.NID, m *Message) {
	if slices.ContainsFunc(c.peers, func(p peer) bool { return p.state == attached }) {
		c.life = max(c.life, m.Incarnation)
		c.tell(Superseded, from, Stale)
		c.rest()
		return
	}
	c.nextLife(m.Incarnation, true)
}
