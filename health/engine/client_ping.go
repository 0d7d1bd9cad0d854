package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// pinging keeps the master informed that this client lives, and finds out whether the master
// lives (CH-9, CH-56). All times are active time.
type pinging struct {
	at          time.Duration // when to ping next
	sent        time.Duration // when something was last sent to the master
	heard       time.Duration // when the last message of its node arrived
	said        time.Duration // when its last message of this protocol arrived
	since       time.Duration // first ping since then that it has not answered, though its node is heard of; 0: none
	incarnation uint64        // of the master
	via         uint64        // incarnation of the NI that brought its last message
	asked       bool          // the transport was asked for other traffic since a ping became due
	due         bool          // a ping is not answered yet
}

func (g *pinging) sentNow(c *Client) {
	g.sent = c.now
	g.schedule(c)
}

func (g *pinging) heardAt(c *Client, at time.Duration) {
	g.since = 0
	g.said = max(g.said, at)
	if at >= g.heard {
		g.heard, g.due = at, false
	}
	g.schedule(c)
}

// doubtful returns when the master has to be pinged although its node sends messages: a master
// asks busy clients once per T_evict, and this one has not.
func (g *pinging) doubtful(c *Client) time.Duration { return g.said + c.cfg.Evict + c.cfg.Ping }

// silentAt returns when the master is given up: when for T_client no message of its node has
// arrived, or the master itself has not answered.
func (g *pinging) silentAt(c *Client) time.Duration {
	if g.since != 0 {
		return min(g.heard, g.since) + c.cfg.Client
	}
	return g.heard + c.cfg.Client
}

// schedule sets the time of the next ping: T_ping after the last message in the direction that
// has been idle for longer.
func (g *pinging) schedule(c *Client) {
	if g.at = min(g.sent, g.heard) + c.cfg.Ping; g.due {
		// Not answered: there is time for one more ping before the master is given up.
		g.at = g.sent + (c.cfg.Client-c.cfg.Ping)/2
	}
	if g.since == 0 {
		g.at = min(g.at, g.doubtful(c))
	}
}

// ping pings the master if a ping is due. It asks the transport for other traffic first: a busy
// client does not ping.
func (c *Client) ping() {
	g := &c.pinging
	switch {
	case c.now >= g.silentAt(c):
		c.replaceMaster(wire.NotConnected, false) // CH-16, CH-49: silent
		c.campaign()
	case c.now < g.at:
	case c.now >= g.doubtful(c):
		if g.since == 0 {
			g.since = c.now
		}
		c.pingNow()
	case !g.asked && !g.due:
		g.asked = true
		g.at = c.now + c.cfg.Ping/50
		c.out.Effects = append(c.out.Effects, ClientEffect{Kind: LookAt, PeerIncarnation: g.via, To: nid.ProcessID{NID: c.master, PID: c.cfg.PID}})
	default:
		c.pingNow()
	}
}

func (c *Client) pingNow() {
	g := &c.pinging
	c.stats.Pings++
	c.ask(c.master, wire.Message{Kind: wire.Ping, Epoch: c.epoch})
	g.asked, g.due = false, true
	g.schedule(c)
}

// traffic applies what the transport knows, and pings if that is too old.
func (c *Client) traffic(in *ClientInput) {
	g := &c.pinging
	if c.phase != settled || in.Server != c.master {
		return
	}
	if at := min(c.pauses.stamp(in.Heard), c.now); at > g.heard {
		g.heard, g.due = at, g.due && g.since != 0
	}
	if g.since != 0 {
		return // only an answer of the master itself ends that
	}
	g.sent = max(g.sent, min(c.pauses.stamp(in.Sent), c.now))
	if g.asked {
		if g.asked = false; c.now >= min(g.sent, g.heard)+c.cfg.Ping {
			c.pingNow()
			return
		}
	}
	g.schedule(c)
}

// A client that looks for another master keeps pinging the old one, which watches over it, and
// would evict it, until another server agrees. That may take long: no server agrees while all
// others drain or are dead.

// old returns the master that this client is leaving, or nil if there is none.
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

// kept handles the old master's answer. The client already looks for another one.
func (c *Client) kept(p *peer, m *wire.Message) {
	switch m.Code {
	case wire.Global:
		c.evicted(p.id, m)
	case wire.NotConnected, wire.Foreign:
		c.lose(p, m.Code)
	}
}
