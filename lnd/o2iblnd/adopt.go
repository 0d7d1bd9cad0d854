package o2iblnd

import (
	"cmp"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
)

// Adoption is a connection that was made before a recording began, for the replay of that
// recording. Both sides have all their credits and owe none, and no transfer is under way.
type Adoption struct {
	Peer       nid.NID // NID of the peer
	PeerStamp  uint64  // incarnation of the peer's NI
	QueueDepth int     // messages in flight; 0: as many as peer_credits
	MaxFrags   int     // fragments per transfer; 0: 257
	// Connect makes this side's end of the connection, on the NI's device: see
	// softroce.Adopt. No event Established follows.
	Connect func(dev verbs.Device, qp verbs.QPConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error)
}

// Adopt adds a connection as if the peer had requested it. The error is an *Error.
func (ni *NI) Adopt(a Adoption) error {
	p := ni.peers.Get(a.Peer)
	if p == nil {
		return newError(ShuttingDown, lustre(a.Peer), nil)
	}
	switch why, reason, ok := p.admit(a.PeerStamp, kib.V2); {
	case !ok:
		return newError(ShuttingDown, lustre(a.Peer), nil) // the NI shuts down, or has just removed the peer as idle
	case why != 0:
		return newError(reason, lustre(a.Peer), nil)
	}
	c := ni.newConn(p, false)
	if c == nil {
		e := newError(ShuttingDown, lustre(a.Peer), nil)
		p.acceptFailed(e)
		return e
	}
	c.depth, c.maxFrags, c.peerStamp = cmp.Or(a.QueueDepth, ni.depth), cmp.Or(a.MaxFrags, kib.MaxFrags), a.PeerStamp
	vc, err := a.Connect(ni.dev, ni.connConfig(c, c.depth, nil).QP, c.event)
	if err != nil {
		e := newError(AcceptFailed, lustre(a.Peer), err)
		if c.abandon() {
			p.acceptFailed(e)
		}
		return e
	}
	c.made(vc)
	c.established(nil)
	return nil
}
