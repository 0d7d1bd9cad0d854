package engine

import "ulnet/health/wire"

// belated takes the consent of a candidate after the client has gone on to the next
// one, as when thousands of clients start at once and servers need longer to save a
// connection than a client waits. The candidate holds a connection that nobody asked
// for besides. While there is no master it is asked to be that, which it answers at
// once: going on to the next would leave a connection at every server of the cluster.
// With a master it is told who that is, and left when it knows.
func (c *Client) belated(p *peer, m *wire.Message) {
	e := &c.election
	switch {
	case c.phase == settled:
		c.late(p, m)
		c.previous(m.Server)
	case c.phase == electing && !e.belated:
		c.epoch++ // the present candidate may agree to be the master in its own epoch
		e.candidate, e.again, e.belated, e.at = p.id, false, true, c.now+c.cfg.Try/2
		c.nominate(p.id)
	}
}
