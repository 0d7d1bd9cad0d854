package engine

import "ulnet/health/wire"

// A client that looks for a master keeps pinging the one that it leaves: until another
// agrees that one watches over it, and would evict it. As long as all others drain,
// or are dead, there is no other.

// old returns the master that this client leaves, if that may still watch over it.
func (c *Client) old() *peer {
	if c.phase != electing || !c.master.IsValid() {
		return nil
	}
	if p := c.known(c.master); p != nil && p.state == attached {
		return p
	}
	return nil
}

// keep pings the old master once per interval.
func (c *Client) keep() {
	if p := c.old(); p != nil && c.now >= c.keepAt {
		c.keepAt = c.now + c.cfg.Ping
		c.stats.Pings++
		c.ask(p.id, wire.Message{Kind: wire.Ping, Epoch: c.epoch})
	}
}

// kept takes the old master's answer: that another must be found is known already.
func (c *Client) kept(p *peer, m *wire.Message) {
	switch m.Code {
	case wire.Global:
		c.evicted(p.id, m)
	case wire.NotConnected, wire.Foreign:
		c.lose(p, m.Code)
	}
}
