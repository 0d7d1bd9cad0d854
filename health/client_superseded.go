package health

import (
	"log/slog"

	"ulnet/lnet/nid"
)

// laterPeer returns the NID at which the later life runs that a server speaks of, zero
// if it does not say. Servers of older versions put the master there that this client
// has named: that is no answer.
func (c *Client) laterPeer(from nid.NID, m *Message) nid.NID {
	if m.Server == from || m.Server == c.master {
		return nid.NID{}
	}
	return m.Server
}

// logSuperseded says who runs as the same client, and what to do about it.
func logSuperseded(log *slog.Logger, e *ClientEvent) {
	by := "unknown"
	if e.Peer.IsValid() {
		by = e.Peer.String()
	}
	log.Warn("health: the same client runs elsewhere in a later life, and this one ends", slog.String("elsewhere", by),
		slog.Any("server", e.Server), slog.Uint64("life", e.Incarnation),
		slog.String("hint", "give each node an NID, and each program a client id, of its own; if it was moved on purpose there is nothing to do"))
}
