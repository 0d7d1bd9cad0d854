package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// pinging tells the master regularly that this client is alive, and finds out whether the
// master is alive (CH-9, CH-56). All times are active time.
type pinging struct {
	at          time.Duration // when to send the next ping
	sent        time.Duration // when any message was last sent to the master
	heard       time.Duration // when the last message of the master's node arrived
	said        time.Duration // when the master's last message of client health arrived
	since       time.Duration // when the first ping was sent that the master itself has not answered, although it or its node has sent other messages; 0: none
	inquiry     time.Duration // when the master last asked whether this client is there; 0: it has not asked
	evict       time.Duration // the master's T_evict; a master that hears this client asks that seldom
	incarnation uint64        // number of the master's incarnation, which its messages contain
	via         uint64        // incarnation of the NI that sent the master's last message
	asked       bool          // a ping is due, and the machine has asked the transport whether other messages of the two nodes make the ping unnecessary
	due         bool          // a ping is waiting for its answer
	first       uint64        // sequence number of the first ping that the master has not answered; 0: it has answered all
	firstAt     time.Duration // when that ping was sent
	resumed     bool          // a pause has just ended: ping unless another message goes to the master in this step
}

func (g *pinging) sentNow(c *Client) {
	g.sent, g.resumed = c.now, false
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

// repeats reports whether a message of the master asks whether this client is there, and follows another such question
// so soon that the master cannot have got the answer to that. How often the master repeats a question depends on its own
// times. It asks a client that has answered again after T_evict, or when another process wants the client's id.
func (g *pinging) repeats(c *Client, m *wire.Message) bool {
	if m.Kind != wire.Ask || m.Incarnation != c.incarnation || m.Epoch != c.epoch {
		return false
	}
	last := g.inquiry
	g.inquiry = c.now
	return last != 0 && c.now-last < g.evict*3/4
}

// unheard pings a master that asks again. Such a question is no sign that the master hears this client. If the master
// does not answer the ping either, messages to it are lost, and the client gives it up T_client after the ping.
func (g *pinging) unheard(c *Client) {
	if g.since == 0 {
		g.since = c.now
	}
	if !g.due {
		c.pingNow()
	}
}

// doubtful returns when the client must ping the master even though other messages arrive from
// the master's node. A live master asks a busy client once per T_evict; if it has not asked, it
// may have ended.
func (g *pinging) doubtful(c *Client) time.Duration { return g.said + c.cfg.Evict + c.cfg.Ping }

// silentAt returns when the client gives up the master. That is T_client after the latest
// message of the master's node, or T_client after the first ping that the master itself has not
// answered, whichever comes first.
func (g *pinging) silentAt(c *Client) time.Duration {
	if g.since != 0 {
		return min(g.heard, g.since) + c.cfg.Client
	}
	return g.heard + c.cfg.Client
}

// schedule sets the time of the next ping: T_ping after the last message to the master or after
// the last one from it, whichever of the two is older.
func (g *pinging) schedule(c *Client) {
	if g.at = min(g.sent, g.heard) + c.cfg.Ping; g.due {
		// The ping is not answered yet. The next one is early enough to be answered before the client
		// gives up the master.
		g.at = g.sent + (c.cfg.Client-c.cfg.Ping)/2
	}
	if g.since == 0 {
		g.at = min(g.at, g.doubtful(c))
	}
}

// resumed makes the client ping its master, or the old master that it still has during an
// election, in this step, because a pause has just ended. The master's clock has gone on, so the
// master may have heard nothing for longer than T_ping, even though no ping is due in the
// client's active time.
func (c *Client) resumed() { c.pinging.resumed, c.keepAt = true, c.now }

// ping pings the master if a ping is due. Before that, it asks the transport for messages of
// other protocols, since a busy client does not ping.
func (c *Client) ping() {
	g := &c.pinging
	switch {
	case c.now >= g.silentAt(c):
		c.replaceMaster(wire.NotConnected, false) // the master is silent for too long (CH-16, CH-49)
		c.campaign()
	case c.now < g.at && !g.resumed:
	case c.now >= g.doubtful(c):
		if g.since == 0 {
			g.since = c.now
		}
		c.pingNow()
	case !g.asked && !g.due && !g.resumed:
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
	sequence := c.ask(c.master, wire.Message{Kind: wire.Ping, Epoch: c.epoch})
	if g.first == 0 {
		g.first, g.firstAt = sequence, c.now
	}
	g.asked, g.due = false, true
	g.schedule(c)
}

// answered handles a message of the master, which was received at the time at. If the message answers a
// ping, the output gets the time from the first unanswered ping to this answer.
func (g *pinging) answered(c *Client, m *wire.Message, at time.Duration) {
	if g.first == 0 || m.Sequence < g.first || m.Sequence > c.sequence {
		return
	}
	g.first = 0
	c.out.PingTime = max(at-g.firstAt, 1)
}

// traffic applies the transport's report about messages of other protocols, and pings if the
// latest of them are too old.
func (c *Client) traffic(in *ClientInput) {
	g := &c.pinging
	if c.phase != settled || in.Server != c.master {
		return
	}
	if at := min(c.pauses.stamp(in.Heard), c.now); at > g.heard {
		g.heard, g.due = at, g.due && g.since != 0
	}
	if g.since != 0 {
		return // other traffic of the node does not replace the master's own answer
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

// A client that looks for another master continues to ping the old one until another server
// agrees, because the old one still watches over the client and would evict it. The search may
// take long: while all other servers drain or are dead, none agrees.

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

// keep pings the old master once per ping interval.
func (c *Client) keep() {
	if p := c.old(); p != nil && c.now >= c.keepAt {
		c.keepAt = c.now + c.cfg.Ping
		c.stats.Pings++
		c.ask(p.id, wire.Message{Kind: wire.Ping, Epoch: c.epoch})
	}
}

// kept handles the old master's answer to a ping, while the client looks for another master.
func (c *Client) kept(p *peer, m *wire.Message) {
	switch m.Code {
	case wire.Global:
		c.evicted(p.id, m)
	case wire.NotConnected, wire.Foreign:
		if !c.past(m) {
			c.lose(p, m.Code)
		}
	case wire.Orphaned:
		c.hurry(p.id)
	}
}
