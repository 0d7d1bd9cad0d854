package engine

import (
	"fmt"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// lonelyEvery is how often a client without a master reports why it has none.
const lonelyEvery = time.Minute

// Answer is the latest answer of a server that was asked to be the master.
type Answer struct {
	Server nid.NID       `json:"server"`             // the candidate that answered
	Code   wire.Code     `json:"code"`               // why the candidate refused; OK: it has not answered the latest question
	Evict  time.Duration `json:"evict_ns,omitempty"` // with OtherTimes: T_evict of the server
	Needs  time.Duration `json:"needs_ns,omitempty"` // with OtherTimes: the shortest T_evict for this client
	Ping   time.Duration `json:"ping_ns,omitempty"`  // with OtherTimes: T_ping of this client, in nanoseconds
}

// String returns "10.0.0.1@tcp: no-quorum", or that it does not answer.
func (a Answer) String() string {
	switch a.Code {
	case wire.OK:
		return a.Server.String() + ": no answer"
	case wire.OtherTimes:
		return fmt.Sprintf("%v: %v (it evicts clients after %v; this one pings every %v and needs %v)", a.Server, a.Code, a.Evict, a.Ping, a.Needs)
	}
	return a.Server.String() + ": " + a.Code.String()
}

// answers returns the latest answers of the servers that were asked.
func (c *Client) answers() (list []Answer) {
	for i := range c.peers {
		switch p := &c.peers[i]; {
		case p.silent > 0:
			list = append(list, Answer{Server: p.id})
		case p.said == wire.OtherTimes:
			list = append(list, Answer{p.id, p.said, p.evict, c.needs(), c.cfg.Ping})
		case p.said != wire.OK:
			list = append(list, Answer{Server: p.id, Code: p.said})
		}
	}
	return list
}

// lonely reports why the client has no master, after a round in which all servers were asked,
// and at most once per lonelyEvery.
func (c *Client) lonely() {
	if c.now < c.lonelyAt {
		return
	}
	c.lonelyAt = c.now + lonelyEvery
	c.out.Answers = c.answers()
	c.out.Effects = append(c.out.Effects, ClientEffect{Kind: Lonely})
}
