package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// ClientStats counts what a Client did and met.
type ClientStats struct {
	Sent      uint64             // messages
	Pings     uint64             // of those
	Answers   uint64             // of those, to a master that asked whether this client is there
	Changes   uint64             // of the master
	Evictions uint64             // of this client
	Declined  [wire.Codes]uint64 // by candidates
	Malformed uint64
	Stray     uint64 // messages of who was not asked, or about another incarnation
}

// ClientStatus is the state of a client.
type ClientStatus struct {
	Client      wire.ClientID `json:"client"`
	Incarnation uint64        `json:"incarnation"`
	State       string        `json:"state"`
	Master      nid.NID       `json:"master,omitzero"`
	Epoch       uint32        `json:"epoch"`
	Attached    []nid.NID     `json:"attached"` // the master included
	Heard       time.Duration `json:"heard_ns"` // how long ago, of the master
	// Answers are what servers said that were asked to be the master, while there is none.
	Answers []Answer `json:"answers,omitempty"`
	// Superseded says who is this client now, until it has a master again.
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
