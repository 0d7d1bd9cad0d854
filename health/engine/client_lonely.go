package engine

import (
	"fmt"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// lonelyEvery is how often a client without a master says why it has none.
const lonelyEvery = time.Minute

// Answer is what a candidate said last when it was asked to be the master. Code is OK if
// it has not answered since.
type Answer struct {
	Server nid.NID   `json:"server"`
	Code   wire.Code `json:"code"`
	// With OtherTimes: T_evict of the server, how much this client needs at least, and
	// its T_ping.
	Evict time.Duration `json:"evict_ns,omitempty"`
	Needs time.Duration `json:"needs_ns,omitempty"`
	Ping  time.Duration `json:"ping_ns,omitempty"`
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

// answers returns what the servers that were asked last said.
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

// lonely tells the user once in a while why no server is the master, after a round in
// which all were asked.
func (c *Client) lonely() {
	if c.now < c.lonelyAt {
		return
	}
	c.lonelyAt = c.now + lonelyEvery
	c.out.Answers = c.answers()
	c.out.Effects = append(c.out.Effects, ClientEffect{Kind: Lonely})
}
