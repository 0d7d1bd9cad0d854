package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// ClientStats has the counters of a Client.
type ClientStats struct {
	Sent      uint64             // number of messages sent
	Pings     uint64             // number of pings among the messages sent
	Answers   uint64             // number of messages sent that answer a server's Ask
	Changes   uint64             // how often a master was chosen
	Evictions uint64             // how often this client was evicted
	Declined  [wire.Codes]uint64 // refusals by servers that were asked to be the master, by reason
	Malformed uint64             // messages that do not parse
	Stray     uint64             // messages from a server that was not asked, or about another incarnation
}

// ClientStatus is the state of a client.
type ClientStatus struct {
	Client      wire.ClientID `json:"client"`          // id of the client
	Incarnation uint64        `json:"incarnation"`     // number of the present incarnation
	State       string        `json:"state"`           // resting, electing or settled
	Master      nid.NID       `json:"master,omitzero"` // the present master; zero: there is none
	Epoch       uint32        `json:"epoch"`           // number of the latest choice of a master
	Attached    []nid.NID     `json:"attached"`        // servers to which the client is connected, the master included
	Heard       time.Duration `json:"heard_ns"`        // time since the last message of the master's node
	// Answers are the latest answers of the servers that were asked to be the master, while there
	// is no master.
	Answers []Answer `json:"answers,omitempty"`
	// Superseded describes the later incarnation on another node. It is set until this client has a
	// master again.
	Superseded *SupersededBy `json:"superseded,omitempty"`
}

// Stats returns the counters so far.
func (c *Client) Stats() ClientStats { return c.stats }

// Status returns the state.
func (c *Client) Status() ClientStatus {
	st := ClientStatus{Client: c.cfg.ID, Incarnation: c.incarnation, State: phaseNames[c.phase], Epoch: c.epoch}
	if c.phase == settled {
		st.Master, st.Heard = c.master, c.now-c.pinging.heard
	}
	if c.phase == electing {
		st.Answers = c.answers()
	}
	if c.superseded.by.Incarnation != 0 {
		by := c.superseded.by
		by.Again = max(c.superseded.at-c.now, 0)
		st.Superseded = &by
	}
	for i := range c.peers {
		if c.peers[i].state == attached {
			st.Attached = append(st.Attached, c.peers[i].id)
		}
	}
	return st
}
