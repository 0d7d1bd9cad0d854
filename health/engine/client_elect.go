package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// election is the search for a master: the client asks one server after the other (the
// candidates), each once per round, with a back-off between rounds (CH-47, CH-50, CH-A14).
type election struct {
	at        time.Duration // active time at which to ask the next candidate to be the master
	candidate nid.NID       // the server that was asked to be the master; zero: none
	sequence  uint64
	again     bool // the candidate is being asked a second time
	belated   bool // the candidate has agreed late, after the client had gone on to another one
	round     uint
	rest      time.Duration // active time at which the back-off before the next round ends; 0: a round is going on
	tried     []nid.NID     // servers that were asked in this round; during the back-off: those asked after they sent a notice
	prefer    nid.NID       // server to ask first: the old master, if it is alive (CH-A19), or the one that it has suggested
	avoid     []nid.NID     // servers not to ask in the first round: reported dead, silent, or not willing
}

// elect begins an election. The old master, if there is one, stays until another server agrees.
func (c *Client) elect(e election) {
	e.at = c.now
	c.phase, c.election = electing, e
	for i := range c.peers {
		c.peers[i].asking = false
	}
}

// replaceMaster begins an election; the parameter why is the reason. If again is true, the client
// may choose the present master again, provided it has heard from that master just now.
func (c *Client) replaceMaster(why wire.Code, again bool) {
	if c.phase != settled {
		return
	}
	c.stats.Changes++
	c.tell(MasterLost, c.master, why)
	c.keepAt = c.pinging.sent + c.cfg.Ping
	e := election{avoid: c.accused([]nid.NID{c.master})}
	if again && c.now-c.pinging.heard < (c.cfg.Ping+c.cfg.Client)/2 {
		e = election{prefer: c.master}
	}
	c.elect(e)
	if c.now-c.settledAt < c.cfg.Try {
		// Servers may disagree about which server is dead. Wait a little, so that masters do not
		// change as fast as servers answer.
		c.election.at = c.now + c.jitter(c.cfg.Try)
	}
}

// accuse records that a server has reported the master as dead.
func (c *Client) accuse() {
	if p := c.known(c.master); p != nil && c.phase == settled {
		p.accused = max(c.now, 1)
	}
}

// accused adds to list the servers that others have reported as dead within the last T_orphan,
// so that the client asks them last. After an asymmetric partition there may be two servers that
// the others do not hear. Either of the two accepts the client, so the client could go back and
// forth between them until the other servers evict it as an orphan.
func (c *Client) accused(list []nid.NID) []nid.NID {
	for i := range c.peers {
		if p := &c.peers[i]; p.accused > 0 && c.now-p.accused < c.cfg.Orphan && p.id != c.master {
			list = append(list, p.id)
		}
	}
	return list
}

// suggested makes an election that has just begun ask first the server that the master has suggested.
func (c *Client) suggested(id nid.NID) {
	if c.phase == electing && id.IsValid() && id != c.master && slices.Contains(c.cfg.Servers, id) {
		c.election.prefer = id
	}
}

// hurry makes the client ask the server id during the back-off between two rounds of an election. That server has
// just said that it holds this client as an orphan: it is alive, and evicts the client after T_orphan. The client
// asks each such server only once per back-off, so that repeated notices of orphans do not multiply its messages
// while no server has a quorum.
func (c *Client) hurry(id nid.NID) {
	e := &c.election
	if e.rest > 0 && !e.candidate.IsValid() && !e.prefer.IsValid() && !slices.Contains(e.tried, id) {
		e.prefer, e.at = id, min(e.at, c.now+c.jitter(c.cfg.Try))
	}
}

// resting reports whether the back-off between two rounds goes on and no server is to be asked meanwhile
// (see hurry). Once the back-off is over, resting begins the next round.
func (c *Client) resting() bool {
	e := &c.election
	if slices.Contains(e.tried, e.prefer) {
		e.prefer = nid.NID{}
	}
	switch {
	case e.rest == 0 || e.rest > c.now && e.prefer.IsValid():
		return false
	case e.rest > c.now:
		e.at = e.rest
		return true
	}
	e.tried, e.rest = nil, 0
	return false
}

// campaign asks the next candidate, or asks the present one a second time.
func (c *Client) campaign() {
	e := &c.election
	if e.candidate.IsValid() && !e.again {
		e.again = true
		e.at = c.now + c.cfg.Try/2
		c.nominate(e.candidate)
		return
	}
	e.candidate = nid.NID{}
	c.dropSilent()
	if c.resting() {
		return
	}
	candidate, ok := c.pick()
	if !ok { // all servers of the round were asked
		e.tried, e.avoid, e.prefer = nil, nil, nid.NID{}
		e.at = c.now + c.jitter(min(c.cfg.Try<<min(e.round, 16), c.cfg.MaxBackoff))
		e.rest = e.at
		e.round++
		c.lonely()
		return
	}
	if c.epoch > maxEpoch-epochJump { // each candidate that is asked uses up an epoch: after weeks in which no server agrees, none is left
		c.evicted(candidate, &wire.Message{Incarnation: c.incarnation})
		return
	}
	c.epoch++
	e.tried = append(e.tried, candidate)
	e.candidate, e.again, e.belated, e.at = candidate, false, false, c.now+c.cfg.Try/2
	c.nominate(candidate)
}

// pick returns the next candidate: connected servers first, in random order,
// then all others (CH-5, CH-50).
func (c *Client) pick() (nid.NID, bool) {
	e := &c.election
	bad := func(id nid.NID) bool { return slices.Contains(e.tried, id) || slices.Contains(e.avoid, id) }
	if e.prefer.IsValid() && !bad(e.prefer) {
		return e.prefer, true
	}
	var list []nid.NID
	for i := range c.peers {
		if c.peers[i].state == attached && !bad(c.peers[i].id) {
			list = append(list, c.peers[i].id)
		}
	}
	if len(list) == 0 {
		for range 4 { // usually one of four servers drawn at random may be asked, so that no list of all candidates has to be made
			if id := c.cfg.Servers[c.rng.IntN(len(c.cfg.Servers))]; !bad(id) {
				return id, true
			}
		}
		for _, id := range c.cfg.Servers {
			if !bad(id) {
				list = append(list, id)
			}
		}
	}
	if len(list) == 0 {
		return nid.NID{}, false
	}
	return list[c.rng.IntN(len(list))], true
}

// nominate asks a server to become the client's master.
func (c *Client) nominate(id nid.NID) {
	p := c.peer(id)
	p.mayOwn = true
	if p.silent == 0 {
		p.silent = max(c.now, 1)
	}
	m := wire.Message{Kind: wire.Connect, Server: id, Epoch: c.epoch, Name: []byte(c.cfg.Name)}
	if p.state == attached || c.election.belated {
		m = wire.Message{Kind: wire.Choose, Server: id, Epoch: c.epoch}
		c.reconciled(id)
	} else {
		p.unsure = p.state == perhaps && (p.unsure || !c.election.again)
		p.state = perhaps
	}
	m.Retry, m.ServerIncarnation = c.cfg.told()
	c.pinging.resumed = false // the candidate hears from this client now
	if c.election.again {
		m.Sequence = c.election.sequence
		c.send(id, &m)
		return
	}
	c.election.sequence = c.ask(id, m)
}

// elected handles the answer in which a candidate agrees to be the master.
func (c *Client) elected(p *peer, m *wire.Message) {
	if m.Kind == wire.Accept && m.Epoch != c.epoch {
		// The candidate has accepted an earlier connect of this incarnation, so the client sends it a
		// Choose this time, instead of another Connect.
		c.setAttached(p)
		c.election.again = true
		c.nominate(p.id)
		return
	}
	id := p.id
	c.master, c.phase, c.settledAt, c.agreed = id, settled, c.now, c.epoch
	c.superseded = superseded{}
	c.token = append(c.token[:0], m.Token...)
	resumed := c.pinging.resumed // a pause has ended since the candidate was last asked
	c.pinging = pinging{incarnation: m.ServerIncarnation, via: c.via, evict: cmp.Or(m.Retry, c.cfg.Evict)}
	c.pinging.sentNow(c)
	c.pinging.resumed = resumed
	c.pinging.heardAt(c, c.now)
	c.setAttached(p)
	p.asking, p.said = false, wire.OK
	c.tell(MasterChosen, id, wire.OK)
	for i := range c.peers {
		if q := &c.peers[i]; q.id != id && q.state != detached {
			q.since, q.wait = c.now, 0
			c.inform(q)
		}
	}
	for i := range c.peers {
		if q := &c.peers[i]; q.wanted && q.state == detached {
			q.wait = 0
			c.inform(q)
		}
	}
	if m.Kind == wire.Accept {
		c.previous(m.Server)
	}
}

// previous connects to a server that was the master of an earlier incarnation of this client. If
// that server still has the earlier incarnation, it then evicts that incarnation (CH-52, CH-59).
func (c *Client) previous(id nid.NID) {
	if !id.IsValid() || id == c.master || !slices.Contains(c.cfg.Servers, id) {
		return
	}
	if p := c.peer(id); p.state == detached && !p.asking {
		p.joining, p.wait, p.since = true, 0, c.now
		c.inform(p)
	}
}

// declined handles a candidate's refusal to be the master.
func (c *Client) declined(p *peer, m *wire.Message) {
	e := &c.election
	p.said, p.evict = m.Code, toldEvict(m)
	switch m.Code {
	case wire.Global:
		c.evicted(p.id, m)
		return
	case wire.Stale:
		if c.stale(p.id, m) {
			return
		}
		p.state = detached
	case wire.Ahead:
		if c.ahead() {
			c.stats.Declined[m.Code]++
			return
		}
		p.state = detached
	case wire.OldEpoch:
		c.laterEpoch(m)
		e.untry(p.id)
	case wire.NotConnected:
		c.lose(p, m.Code)
		e.untry(p.id)
	default:
		if m.Code == wire.Foreign && c.takesBack() {
			c.stats.Declined[m.Code]++
			return
		}
		if m.Kind == wire.Reject && p.state == perhaps && m.Code != wire.Busy && !p.unsure {
			p.state = detached
		}
	}
	c.stats.Declined[m.Code]++
	e.candidate, e.at = nid.NID{}, c.now
}

// untry allows the client to ask a candidate once more in this round, with another kind of
// message.
func (e *election) untry(id nid.NID) {
	if n := len(e.tried); n < 8 { // bounds the repetitions, in case a server always gives the same answer
		e.tried = slices.DeleteFunc(e.tried, func(x nid.NID) bool { return x == id })
		e.tried = append(e.tried, nid.NID{})
	}
}

// belated handles the agreement of a candidate that arrives after the client has gone on to the
// next candidate. That happens when thousands of clients start at once and a server takes longer
// to save a connection than a client waits. If the client has no master, it asks the late
// candidate again, which now answers at once; asking further servers instead would leave an
// unwanted connection at every server of the cluster. If the client has a master, it tells the
// candidate which server that is, and disconnects from the candidate once it has answered.
func (c *Client) belated(p *peer, m *wire.Message) {
	e := &c.election
	switch {
	case c.phase == settled:
		c.late(p, m)
		c.previous(m.Server)
	case c.phase == electing && !e.belated:
		c.epoch++ // a new epoch, because the present candidate may still agree in the old one
		e.candidate, e.again, e.belated, e.at = p.id, false, true, c.now+c.cfg.Try/2
		c.nominate(p.id)
	}
}
