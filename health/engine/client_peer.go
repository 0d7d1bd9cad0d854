package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// peerState is the state of a client's connection to a server.
type peerState uint8

const (
	detached peerState = iota
	perhaps            // the client has sent a connect, which the server may have accepted
	attached
)

// peer is what a client knows of a server to which it has, wants or had a connection.
type peer struct {
	id       nid.NID
	state    peerState
	wanted   bool          // the user has asked for this connection
	joining  bool          // the client connects, although the user has not asked for it
	asking   bool          // a connect or a choice of a master is repeated until the server answers
	refused  bool          // the user was told that the server has refused
	unsure   bool          // the server may have accepted a connect before the latest one, and keeps that connection if it refuses to be the master
	stale    bool          // the server has reported a later incarnation of the client
	sequence uint64        // sequence number of the latest message that needs an answer
	at       time.Duration // active time at which to repeat that message
	wait     time.Duration // back-off: time between repetitions
	since    time.Duration // active time from which the client waits for the server: it gives the server up T_orphan later
	asked    time.Duration // active time when the message of the field sequence was last sent
	said     wire.Code     // the server's latest refusal to be the master; OK: no refusal since it last agreed
	evict    time.Duration // T_evict of the server, if that refusal was OtherTimes
	silent   time.Duration // active time when the server was asked to be the master; 0: it has answered, or was not asked
	mayOwn   bool          // the server may consider itself the master: it was asked to be that, and has not shown since that it knows a later choice or no connection
	accused  time.Duration // active time when another server last reported this one as dead; 0: never
}

// peer returns the entry of a server. The pointer is valid until the next call.
func (c *Client) peer(id nid.NID) *peer {
	if p := c.known(id); p != nil {
		return p
	}
	c.peers = append(c.peers, peer{id: id})
	return &c.peers[len(c.peers)-1]
}

func (c *Client) known(id nid.NID) *peer {
	i := slices.IndexFunc(c.peers, func(p peer) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return &c.peers[i]
}

// setAttached records that a server has accepted this incarnation.
func (c *Client) setAttached(p *peer) {
	if p.state != attached {
		p.state, p.refused, p.stale = attached, false, false
		c.reconciled(p.id)
		p.since = c.now
		c.tell(Attached, p.id, wire.OK)
	}
}

// lose records that this incarnation is no longer connected to a server.
func (c *Client) lose(p *peer, why wire.Code) {
	if p.state == attached {
		c.tell(Dropped, p.id, why)
		p.wait = 0
	}
	p.state, p.asking, p.joining = detached, false, false
	p.mayOwn = p.mayOwn && why == wire.Orphaned // a server that does not answer may have the connection all the same
	if p.wanted && c.phase == settled && p.id != c.master {
		c.later(p, c.cfg.Try)
	}
}

// inform makes sure that a server knows the present master: it sends a connect or, to a
// connected server, the choice of the master (CH-7, CH-17, CH-51), and repeats that until the
// server answers.
func (c *Client) inform(p *peer) {
	m := wire.Message{Kind: wire.Connect, Server: c.master, Epoch: c.epoch, Name: []byte(c.cfg.Name), Token: c.token}
	if p.state == attached || p.state == perhaps && !p.wanted && !p.joining {
		m = wire.Message{Kind: wire.Choose, Server: c.master, Epoch: c.epoch, Token: c.token}
		c.reconciled(p.id)
	} else {
		p.state = perhaps
	}
	m.Retry, m.ServerIncarnation = c.cfg.told()
	p.asking = true
	p.wait = min(max(p.wait*2, c.cfg.Try), c.cfg.MaxBackoff)
	if p.mayOwn && c.now-c.settledAt < c.cfg.Evict { // such a server evicts this client unless it is told in time
		p.wait = min(p.wait, max(c.cfg.Ping/2, c.cfg.Try))
	}
	p.at = c.now + c.jitter(p.wait)
	p.sequence, p.asked = c.ask(p.id, m), c.now
}

// knows records that a message of a server has the given epoch. If that is the latest, and the master is another
// server, this one does not consider itself the master.
func (c *Client) knows(p *peer, epoch uint32) {
	if epoch == c.epoch && c.phase == settled && p.id != c.master {
		p.mayOwn = false
	}
}

// later schedules the next message to a server that has not answered, with back-off.
func (c *Client) later(p *peer, after time.Duration) {
	p.asking = true
	p.wait = min(max(p.wait*2, after, c.cfg.Try), c.cfg.MaxBackoff)
	p.at = c.now + c.jitter(p.wait)
}

// repeat repeats the messages that are due and gives up servers that have not answered for
// T_orphan: they have evicted this client, or are dead.
func (c *Client) repeat() {
	for i := range c.peers {
		p := &c.peers[i]
		if !p.asking || c.now < p.at {
			continue
		}
		if p.state != detached && c.now-p.since > c.cfg.Orphan {
			if c.lost(p); !p.wanted {
				continue
			}
			p.since = c.now
		}
		c.inform(p)
	}
}

// dropSilent gives up connections to servers that the client has asked to be the master, and
// that have not answered for T_orphan. Such a server has evicted this client, or is dead.
func (c *Client) dropSilent() {
	for i := range c.peers {
		if p := &c.peers[i]; p.state == attached && p.silent > 0 && c.now-p.silent > c.cfg.Orphan {
			c.lost(p)
		}
	}
}

// lost gives up a connection to a server that does not answer. It sends a farewell all the same,
// which the server may receive.
func (c *Client) lost(p *peer) {
	if c.lose(p, wire.Orphaned); !p.wanted {
		c.farewell(p.id, wire.NotConnected)
	}
}

// attach connects to a server at the user's request.
func (c *Client) attach(id nid.NID) {
	if c.phase != settled { // the client has no master at present (CH-58)
		c.tell(Refused, id, wire.NotConnected)
		return
	}
	if !slices.Contains(c.cfg.Servers, id) {
		c.tell(Refused, id, wire.UnknownServer)
		return
	}
	p := c.peer(id)
	p.wanted, p.refused = true, false
	switch {
	case p.state == attached: // the user has been told of the connection already
		return
	case p.state == perhaps && p.asking && c.now-p.asked < c.cfg.Try/2: // a connect was sent just now, as after the choice of a master
		return
	}
	p.since, p.wait = c.now, 0
	c.inform(p)
}

// detach disconnects from a server. The connection to the master stays, but no longer counts as
// wanted by the user.
func (c *Client) detach(id nid.NID) {
	p := c.known(id)
	if p == nil {
		return
	}
	p.wanted = false
	if id == c.master || p.state == detached {
		p.asking = p.asking && p.state != detached
		return
	}
	c.farewell(id, wire.NotConnected)
	p.state, p.asking = detached, false
	if c.phase == electing && id == c.election.candidate { // its agreement may be under way, but the farewell ends that connection
		c.election.candidate, c.election.at = nid.NID{}, c.now
	}
	c.tell(Dropped, id, wire.OK)
}

// doubt asks a server whether this client is still connected to it. The server may have dropped
// the client while it was cut off; then the server's notice was lost.
func (c *Client) doubt(id nid.NID) {
	p := c.known(id)
	if p == nil || c.phase != settled || p.state != attached || p.asking {
		return
	}
	if id == c.master {
		if !c.pinging.due { // a ping that is under way is enough: its answer says whether the client is connected
			c.pingNow()
		}
		return
	}
	p.since, p.wait = c.now, 0
	c.inform(p)
}

// past reports whether a message has an earlier epoch than the one in which the latest master agreed. The network has
// delivered such a message late, or a second time.
func (c *Client) past(m *wire.Message) bool { return m.Epoch != 0 && m.Epoch < c.agreed }

// rest drops all connections, the one to the master included.
func (c *Client) rest() {
	c.phase, c.peers, c.master, c.token, c.election = resting, nil, nid.NID{}, nil, election{}
	c.superseded = superseded{}
}
