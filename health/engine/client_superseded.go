package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// againAfter is how long a superseded client waits, with jitter, before it tries to connect
// again. It is long because two clients with one id disturb each other.
const againAfter = 10 * time.Minute

// SupersededBy describes the later incarnation that makes a client wait.
type SupersededBy struct {
	Server      nid.NID       `json:"server"`        // the server that reported the later incarnation
	Peer        nid.NID       `json:"peer,omitzero"` // NID of the other client, if the server has reported it
	Incarnation uint64        `json:"incarnation"`   // number of the later incarnation
	Again       time.Duration `json:"again_ns"`      // time until the next attempt to connect, in nanoseconds
}

// superseded is why a client waits, and until when.
type superseded struct {
	by SupersededBy
	at time.Duration // active time of the next attempt; 0: none is scheduled
}

// supersede makes the client wait because of a later incarnation elsewhere. The client
// remembers which connections the user wants.
func (c *Client) supersede(from nid.NID, m *wire.Message) {
	c.incarnation = max(c.incarnation, m.Incarnation)
	by := c.laterPeer(from, m)
	c.tell(Superseded, from, wire.Stale)
	c.out.Effects[len(c.out.Effects)-1].Event.Peer = by
	c.restFor(SupersededBy{Server: from, Peer: by, Incarnation: m.Incarnation})
}

// restFor makes the client wait for againAfter.
func (c *Client) restFor(by SupersededBy) {
	var kept []peer
	for i := range c.peers {
		if p := &c.peers[i]; p.wanted {
			kept = append(kept, peer{id: p.id, wanted: true})
		}
	}
	c.rest()
	c.peers = kept
	c.superseded = superseded{by, c.now + c.jitter(againAfter)}
}

// comeBack connects again, in a higher incarnation than that of the other client. If the other
// client still runs, it answers the servers when they ask, and they refuse this client.
func (c *Client) comeBack() {
	if c.phase != resting || c.superseded.at == 0 || c.now < c.superseded.at {
		return
	}
	c.superseded.at = 0
	c.nextIncarnation(c.incarnation, false)
}

// stillThere makes the client wait again if a server reports that the other client has answered.
// The report of one server is enough, since this client is connected to no server.
func (c *Client) stillThere(from nid.NID, m *wire.Message) bool {
	if c.superseded.by.Incarnation == 0 || c.phase != electing || m.Kind != wire.Reject || m.Code != wire.Foreign || c.isAttached() {
		return false
	}
	by := SupersededBy{Server: from, Peer: c.laterPeer(from, m), Incarnation: c.superseded.by.Incarnation}
	c.restFor(by)
	return true
}

// laterPeer returns the NID at which the later incarnation runs, or zero if the server does not
// report it. Older servers use that field of the message for the master that this client has
// named.
func (c *Client) laterPeer(from nid.NID, m *wire.Message) nid.NID {
	if m.Server == from || m.Server == c.master {
		return nid.NID{}
	}
	return m.Server
}
