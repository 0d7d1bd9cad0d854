package engine

import (
	"math"
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// arrived handles a message of a server.
func (c *Client) arrived(in *ClientInput) {
	m, err := wire.ParseMessage(in.Data)
	if err != nil {
		c.stats.Malformed++
		return
	}
	from := c.sender(in)
	if c.acknowledged(from, &m) {
		return
	}
	p := c.known(from.NID)
	if p == nil && from.PID == c.cfg.PID && m.Kind == wire.Ask && m.Client == c.cfg.ID && m.Incarnation < c.incarnation && slices.Contains(c.cfg.Servers, from.NID) {
		c.ended(from.NID, &m)
		return
	}
	if p == nil || from.PID != c.cfg.PID || m.Client != c.cfg.ID || c.phase == resting || !c.about(&m) {
		c.stats.Stray++
		return
	}
	p.silent, c.via = 0, in.PeerIncarnation
	if c.phase == settled && p.id == c.master {
		at := c.now
		if in.At > 0 {
			at = min(c.pauses.stamp(in.At), c.now)
		}
		c.pinging.via = in.PeerIncarnation
		if c.pinging.repeats(c, &m) {
			c.pinging.unheard(c)
		} else {
			c.pinging.heardAt(c, at)
		}
		if m.Kind == wire.Pong {
			c.pinging.answered(c, &m, at)
		}
	}
	switch m.Kind {
	case wire.Accept, wire.Chosen, wire.Reject:
		c.answered(p, &m)
	case wire.Pong:
		switch {
		case p.id == c.master && c.phase == settled:
			c.standing(p, &m)
		case p == c.old():
			c.kept(p, &m)
		}
	case wire.Notice:
		c.noticed(p, &m)
	case wire.Ask:
		c.inquired(p, &m)
	default:
		c.stats.Stray++
	}
}

// inquired answers a master's question whether this client is there. A server that is not the master by
// the client's latest choice gets no answer: inform tells it that choice. But every server gets an answer
// about an incarnation that has ended, and while another process wants this client's id.
func (c *Client) inquired(p *peer, m *wire.Message) {
	a := wire.Message{Kind: wire.Here, Sequence: m.Sequence, Epoch: m.Epoch}
	switch {
	case m.Incarnation < c.incarnation:
		c.ended(p.id, m)
		return
	case m.Code == wire.Stale: // another process wants this client's id, so every server gets an answer
		a.Epoch = c.epoch
	case c.phase != settled || p.id != c.master || m.Epoch != c.epoch:
		return
	}
	c.stats.Answers++
	c.send(p.id, &a)
}

// ended tells a server that asks about an earlier incarnation of this client that it has ended. The server gets
// the answer even if the present incarnation has no connection to it.
func (c *Client) ended(server nid.NID, m *wire.Message) {
	c.stats.Answers++
	c.send(server, &wire.Message{Kind: wire.Here, Code: wire.NotConnected, Incarnation: m.Incarnation, Sequence: m.Sequence, Epoch: m.Epoch})
}

// about reports whether a message is about this incarnation. A refusal that names a later
// incarnation, or the tombstone of a later one, also counts.
func (c *Client) about(m *wire.Message) bool {
	switch {
	case m.Incarnation == math.MaxUint64: // no incarnation can follow this one
		return false
	case (m.Kind == wire.Reject || m.Kind == wire.Notice) && m.Code == wire.Stale:
		// A refusal with the number of this incarnation is the answer to a message of an earlier one.
		return m.Incarnation > c.incarnation
	case (m.Kind == wire.Reject || m.Kind == wire.Notice) && m.Code == wire.Global:
		return m.Incarnation >= c.incarnation
	case m.Kind == wire.Ask:
		// An Ask about an earlier incarnation counts, too: the client's answer ends that incarnation at
		// the server.
		return m.Incarnation <= c.incarnation
	}
	return m.Incarnation == c.incarnation
}

// answered handles the answer to a connect or to a choice of a master.
func (c *Client) answered(p *peer, m *wire.Message) {
	good := m.Kind == wire.Accept || m.Kind == wire.Chosen && m.Code == wire.OK
	switch {
	case c.stillThere(p.id, m):
	case good && c.tooQuick(p, m):
	case c.phase == electing && p.id == c.election.candidate && m.Sequence == c.election.sequence:
		if good {
			c.elected(p, m)
		} else {
			c.declined(p, m)
		}
	case m.Kind == wire.Accept && p.state == perhaps && !p.wanted && !p.joining:
		c.belated(p, m)
	case m.Kind == wire.Accept && p.state == perhaps:
		c.accepted(p, m)
	case good && p.state == detached && !p.asking:
		c.late(p, m)
	case !p.asking || m.Sequence != p.sequence || c.phase != settled:
		c.stats.Stray++
	case m.Kind == wire.Accept:
		c.accepted(p, m)
	case good:
		c.informed(p, m)
	default:
		c.rejected(p, m)
	}
}

// accepted records a connection. If the server has accepted a connect with an earlier choice of a
// master, the client sends it its latest choice.
func (c *Client) accepted(p *peer, m *wire.Message) {
	c.setAttached(p)
	c.knows(p, m.Epoch)
	if c.phase == electing && !c.election.candidate.IsValid() {
		c.election.at = c.now // the election has waited until this server had ended an earlier incarnation
		c.election.rest = min(c.election.rest, c.now)
	}
	p.asking = m.Epoch != c.epoch && c.phase == settled
	if p.asking {
		p.at, p.wait = c.now, 0
	}
	previous := m.Server
	if m.Code == wire.Orphaned && c.phase == settled && m.Epoch == c.epoch {
		c.replaceMaster(wire.Orphaned, true)
	}
	if c.phase == settled {
		c.previous(previous)
	}
}

// late handles the agreement of a server that the client has already given up as a master. That server
// now considers itself the client's master, and would evict the client everywhere once it hears no
// pings. So the client tells that server which server is the master, repeats the message until the
// server answers, and then disconnects.
func (c *Client) late(p *peer, m *wire.Message) {
	if m.Kind == wire.Chosen && m.Epoch == c.epoch { // the server has recorded the present master
		c.farewell(p.id, wire.NotConnected)
		return
	}
	p.mayOwn = true
	p.state, p.asking = perhaps, c.phase == settled
	p.at, p.wait, p.since = c.now, 0, c.now
}

// informed handles a message which shows that the server is connected to the client and has
// recorded a master for it. If that is not the client's latest choice, the client sends the server
// its choice again. If it is, the client keeps the connection if it wants one to that server, and
// disconnects if not.
func (c *Client) informed(p *peer, m *wire.Message) {
	c.knows(p, m.Epoch)
	p.asking = m.Epoch != c.epoch || p.state == detached && p.wanted
	switch {
	case p.state != perhaps || p.asking:
	case p.wanted || p.joining:
		c.setAttached(p)
	default:
		c.farewell(p.id, wire.NotConnected)
		p.state = detached
	}
}

// rejected handles the refusal of a server that was asked to connect, or was told the master,
// but not asked to be the master.
func (c *Client) rejected(p *peer, m *wire.Message) {
	if !p.refused && p.wanted && p.state != attached {
		p.refused = true
		c.tell(Refused, p.id, m.Code)
		c.out.Effects[len(c.out.Effects)-1].Event.Evict = toldEvict(m)
	}
	switch m.Code {
	case wire.Global:
		c.evicted(p.id, m)
	case wire.Stale:
		c.outlived(p, m)
	case wire.MasterDead, wire.UnknownServer: // the server does not accept the chosen master (CH-49, CH-60)
		if p.state == perhaps && m.Kind == wire.Reject { // a connect was refused, so the client is not connected; a connected server refuses a choice by Chosen
			p.state = detached
		}
		p.asking = p.wanted
		c.later(p, c.cfg.Try)
		c.accuse()
		c.replaceMaster(m.Code, false)
	case wire.OldEpoch:
		c.laterEpoch(m)
		c.replaceMaster(m.Code, true)
	case wire.Orphaned:
		c.replaceMaster(m.Code, true)
	case wire.NotConnected, wire.Foreign:
		c.lose(p, m.Code)
	case wire.Busy:
		c.later(p, m.Retry)
		p.since = p.at // the server has answered: it is still ending an eviction, and may keep this client's connection
	default:
		c.refusedFor(p, m)
	}
}

// outlived handles a server's report of a later incarnation. If the client does not give way to
// the later incarnation, it treats the server as one that does not know this client.
func (c *Client) outlived(p *peer, m *wire.Message) {
	if !c.stale(p.id, m) {
		c.lose(p, m.Code)
	}
}

// refusedFor schedules another connect to a server that has refused, if the user wants the
// connection.
func (c *Client) refusedFor(p *peer, m *wire.Message) {
	if m.Kind == wire.Reject && p.state == perhaps {
		p.state = detached
	}
	if p.state == detached && !p.wanted {
		p.asking = false
		return
	}
	c.later(p, m.Retry)
	if m.Code == wire.NoQuorum {
		p.since = p.at // the server has answered: it ends the connection itself, and says so, unless it wins the quorum
	}
}

// standing handles the code in the master's answer to a ping, which tells the state of the
// connection.
func (c *Client) standing(p *peer, m *wire.Message) {
	switch m.Code {
	case wire.OK, wire.Busy:
		if m.ServerIncarnation != c.pinging.incarnation { // the master was restarted (CH-A19)
			c.replaceMaster(wire.Orphaned, true)
		}
	case wire.Global:
		c.evicted(p.id, m)
	case wire.Stale:
		c.outlived(p, m)
	case wire.NotConnected, wire.Foreign:
		if c.past(m) {
			c.doubt(p.id)
			return
		}
		c.lose(p, m.Code)
		c.replaceMaster(m.Code, true)
	case wire.Draining:
		c.replaceMaster(m.Code, false)
	case wire.OtherMaster:
		c.laterEpoch(m)
		c.replaceMaster(m.Code, true)
	default:
		c.replaceMaster(m.Code, true)
	}
}

// noticed handles a notice of a server (CH-68, CH-A13).
func (c *Client) noticed(p *peer, m *wire.Message) {
	master := c.phase == settled && p.id == c.master
	switch m.Code {
	case wire.Global:
		if !c.outdated(p, m) {
			c.evicted(p.id, m)
		}
	case wire.NoQuorum:
		if c.phase == settled && p.state == attached && !p.asking && c.past(m) { // the server has confirmed the latest choice since
			c.doubt(p.id)
			return
		}
		c.lose(p, m.Code)
		if master {
			c.replaceMaster(m.Code, false)
		} else if c.phase == electing && c.election.candidate == p.id {
			c.election.candidate, c.election.at = nid.NID{}, c.now
		}
	case wire.Orphaned:
		c.orphaned(p, m)
	case wire.OtherMaster:
		c.reminded(p, m)
	case wire.Stale:
		c.outlived(p, m)
	case wire.Draining:
		if master {
			c.replaceMaster(m.Code, false)
			c.suggested(m.Server)
		}
	default:
		c.stats.Stray++
	}
}

// outdated reports whether a notice is about an eviction by an earlier master, and arrives after
// another server has agreed to be the master. Such an eviction has not reached all servers and
// is withdrawn (CH-A8), so the client asks the sender whether it is still connected.
func (c *Client) outdated(p *peer, m *wire.Message) bool {
	if m.Epoch == 0 || m.Epoch >= c.agreed || m.Incarnation != c.incarnation {
		return false
	}
	if p.state != detached && c.phase == settled { // without a master, the client asks later, once it has one
		p.asking, p.at, p.wait, p.since = true, c.now, 0, c.now
	}
	return true
}

// orphaned handles a server's notice that this client's master is dead or has not confirmed the
// client.
func (c *Client) orphaned(p *peer, m *wire.Message) {
	switch {
	case c.phase != settled: // the client is electing already, and the server repeats the notice
		c.hurry(p.id)
	case p.id == c.master && m.Epoch < c.epoch && m.ServerIncarnation <= c.pinging.incarnation:
		c.stats.Stray++ // the notice was sent before the present master agreed
	case p.id == c.master:
		c.replaceMaster(m.Code, true)
	case p.state == detached && !p.asking: // the notice is left over from an earlier connection
		c.farewell(p.id, wire.NotConnected)
	case p.state != attached || m.Epoch < c.epoch: // the sender is alive and does not know the present master yet: tell it again
		p.asking, p.at, p.wait, p.since = true, c.now, 0, c.now
	case m.Server == c.master:
		c.replaceMaster(m.Code, true)
	}
}

// reminded handles the notice of a server that has learned from other servers which one is the
// master, for instance after a restart. By then the client may have given up the connection to
// that server.
func (c *Client) reminded(p *peer, m *wire.Message) {
	switch {
	case p.state == detached && !p.asking:
		c.farewell(p.id, wire.NotConnected)
	case c.phase != settled || p.id == c.master:
	case m.Epoch < c.epoch:
		p.asking, p.at, p.wait, p.since = true, c.now, 0, c.now
	case m.Server != c.master:
	case p.state == perhaps && !p.wanted && !p.joining:
		c.informed(p, m)
	default: // the client is already sending the server its choice, or a connect
		c.setAttached(p)
		c.knows(p, m.Epoch)
		p.asking = false
	}
}
