package selftest

import (
	"errors"
	"log/slog"

	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// Bounds of the replies on their way; local policy. A node that sends requests and reads no replies, or is dead, would
// otherwise make this node keep a reply for each request, and a few such nodes would leave no room for replies to others.
// A reply beyond the bounds is not sent, and its RPC ends by its time-out.
const (
	mostReplies  = 1 << 18 // most replies on their way to all nodes
	ownReplies   = 256     // as many may use the reserved half of mostReplies for each NID; a console has no more requests on their way to a node
	mostRefusals = 1 << 15 // most replies on their way to nodes that Config.Allow refuses
	peerRefusals = 1024    // most of these replies to one node
	ownRefusals  = 32      // as many of these may use the reserved half of mostRefusals for each NID
)

// openReplies opens the outboxes for replies.
func (a *Agent) openReplies() {
	a.replies.Open(a.table, portals.OutboxConfig[struct{}]{PeerMessages: mostMessages, OwnMessages: ownReplies, MaxMessages: mostReplies, Done: a.replied})
	a.strangers.Open(a.table, portals.OutboxConfig[struct{}]{PeerMessages: peerRefusals, OwnMessages: ownRefusals, MaxMessages: mostRefusals, Done: a.replied})
}

// reply puts a reply, from the NID that the request was sent to.
func (a *Agent) reply(e *engine.Effect) {
	by := &a.replies
	if e.Stranger {
		by = &a.strangers
	}
	m := by.New()
	m.Data = append(m.Data, e.Data...)
	by.Put(m, portals.PutRequest{Self: e.Self, Target: e.Peer, Portal: wire.BulkPortal, MatchBits: e.Bits})
}

// replied is called when a reply has left, or cannot be sent.
func (a *Agent) replied(_ struct{}, err error) {
	if errors.Is(err, portals.ErrOutboxFull) {
		a.overload.Add(1)
	}
	if err != nil {
		a.log.Debug("selftest: a reply cannot be sent", slog.Any("error", err))
	}
}

// closeOutboxes ends the sending of requests and replies.
func (a *Agent) closeOutboxes() {
	a.outbox.Close()
	a.replies.Close()
	a.strangers.Close()
}
