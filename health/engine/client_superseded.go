package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// againAfter is how long a client waits that was superseded, before it looks whether the
// other one is gone, with jitter. It is long: two clients of one id disturb each other.
const againAfter = 10 * time.Minute

// SupersededBy says why a client rests.
type SupersededBy struct {
	Server      nid.NID       `json:"server"`        // that said so
	Peer        nid.NID       `json:"peer,omitzero"` // where the later incarnation runs, if it was told
	Incarnation uint64        `json:"incarnation"`   // of that
	Again       time.Duration `json:"again_ns"`      // until it tries again
}

// superseded is why a client rests, and until when.
type superseded struct {
	by SupersededBy
	at time.Duration // active time of the next attempt; 0: it was not superseded, or has tried
}

// supersede rests because of a later incarnation elsewhere, for a while. What the user wants is kept.
func (c *Client) supersede(from nid.NID, m *wire.Message) {
	c.incarnation = max(c.incarnation, m.Incarnation)
	by := c.laterPeer(from, m)
	c.tell(Superseded, from, wire.Stale)
	c.out.Effects[len(c.out.Effects)-1].Event.Peer = by
	c.restFor(SupersededBy{Server: from, Peer: by, Incarnation: m.Incarnation})
}

// restFor rests for a while, because another one is this client.
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

// comeBack tries again, in an incarnation after the other one. Where that still runs it answers, and
// servers refuse this client.
func (c *Client) comeBack() {
	if c.phase != resting || c.superseded.at == 0 || c.now < c.superseded.at {
		return
	}
	c.superseded.at = 0
	c.nextIncarnation(c.incarnation, false)
}

// stillThere rests again when a server says that the other one, which had superseded this
// client, has answered. It is connected nowhere, so that one server's word is enough.
func (c *Client) stillThere(from nid.NID, m *wire.Message) bool {
	if c.superseded.by.Incarnation == 0 || c.phase != electing || m.Kind != wire.Reject || m.Code != wire.Foreign || c.isAttached() {
		return false
	}
	by := SupersededBy{Server: from, Peer: c.laterPeer(from, m), Incarnation: c.superseded.by.Incarnation}
	c.restFor(by)
	return true
}

// laterPeer returns the NID at which the later incarnation runs that a server speaks of, zero
// if it does not say. Servers of older versions put the master there that this client
// has named: that is no answer.
func (c *Client) laterPeer(from nid.NID, m *wire.Message) nid.NID {
	if m.Server == from || m.Server == c.master {
		return nid.NID{}
	}
	return m.Server
}
