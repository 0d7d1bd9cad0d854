package lnet

import "ulnet/lnd"

// Upper is the layer above lnet, in practice a portals.Table. lnet calls it
// without locks, in the goroutine of the driver or of the sender.
type Upper interface {
	// Arrive decides about a message for this node whose header is in d. Arrive has four results: it sets
	// d.Sink and d.Owner and returns Accept; or it keeps d and returns Hold; or it returns a drop reason, and
	// lnet discards the payload and forgets the message; or, only if d.Data is not nil, it copies the payload, calls
	// NI.Received, and returns Taken: then Delivered is not called. It may delay the handling of an ACK of a
	// batch until Arrive is called for another message, or EndBatch is called; then it calls NI.CountAcks
	// instead of NI.Received.
	Arrive(ni *NI, d *lnd.Delivery) (lnd.Answer, DropReason)
	// Again reports whether the upper layer takes n messages that are equal to the latest one of a batch,
	// which Arrive has taken.
	Again(d *lnd.Delivery, n int) bool
	// Delivered ends a message that was not dropped: its payload is in the
	// sink, or err says why it never will be.
	Delivered(ni *NI, d *lnd.Delivery, err error)
	// Abandon takes back a delivery that Arrive answered with Hold. If the delivery has been
	// matched since, it cannot: it then reports false, and NI.Recv or NI.Discard follows.
	Abandon(ni *NI, d *lnd.Delivery) bool
	// Sent reports the end of a message given to Node.Send.
	Sent(m *Message, err error)
	// EndBatch follows a batch in which d.Upper was set, see lnd.Batcher.
	EndBatch(d *lnd.Delivery)
	// Detach gives up every delivery that arrived by ni and that Upper has put on hold. It
	// calls NI.Discard for each of them before it returns.
	Detach(ni *NI)
}
