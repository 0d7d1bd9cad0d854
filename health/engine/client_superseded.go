package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// againAfter is how long a superseded client waits, with jitter, before it tries to connect
// again. It is long because two clients with one id disturb each other.
const againAfter = 10 * time.Minute

// SupersededBy describes the later incarnation because of which a client rests.
type SupersededBy struct {
	Server      nid.NID       `json:"server"`        // the server that reported it
	Peer        nid.NID       `json:"peer,omitzero"` // NID of the other client, if the server told it
	Incarnation uint64        `json:"incarnation"`   // number of the later incarnation
	Again       time.Duration `json:"again_ns"`      // time until the next attempt to connect
}

// superseded is why a client rests, and until when.
type superseded struct {
	by SupersededBy
	at time.Duration // active time of the next attempt; 0: none is scheduled
}

// supersede makes the client rest because of a later incarnation elsewhere. The connections
// that the user wants are remembered.
func (c *Client) supersede(from nid.NID, m *wire.Message) {
	c.incarnation = max(c.incarnation, m.Incarnation)
	by := c.laterPeer(from, m)
	c.tell(Superseded, from, wire.Stale)
	c.out.Effects[len(c.out.Effects)-1].Event.Peer = by
	c.restFor(SupersededBy{Server: from, Peer: by, Incarnation: m.Incarnation})
}

// restFor makes the client rest until againAfter is over.
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

// comeBack connects again, in an incarnation above the other one. If the other client still
// runs it answers the servers' question, and they refuse this client.
func (c *Client) comeBack() {
	if c.phase != resting || c.superseded.at == 0 || c.now < c.superseded.at {
		return
	}
	c.superseded.at = 0
	c.nextIncarnation(c.incarnation, false)
}

// stillThere rests again when a server reports that the other client has answered. One server
// is enough, since this client is connected nowhere.
func (c *Client) stillThere(from nid.NID, m *wire.Message) bool {
	if c.superseded.by.Incarnation == 0 || c.phase != electing || m.Kind != wire.Reject || m.Code != wire.Foreign || c.isAttached() {
		return false
	}
	by := SupersededBy{Server: from, Peer: c.laterPeer(from, m), Incarnation: c.superseded.by.Incarnation}
	c.restFor(by)
	return true
}

// laterPeer returns the NID at which the later incarnation runs, zero if the server does not
// tell it. Older servers put the master that this client has named into that field.
func (c *Client) laterPeer(from nid.NID, m *wire.Message) nid.NID {
	if m.Server == from || m.Server == c.master {
		return nid.NID{}
	}
	return m.Server
}
