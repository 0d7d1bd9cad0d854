package lnet

import (
	"errors"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/wire"
)

// forward decides about a message that is for another net.
func (ni *NI) forward(d *lnd.Delivery) lnd.Answer {
	answer, why := ni.admit(d)
	if why != NotDropped {
		ni.drop(d, why)
	}
	return answer
}

// admit checks a message that is to be forwarded and asks for its buffer.
func (ni *NI) admit(d *lnd.Delivery) (lnd.Answer, DropReason) {
	if why := ni.meet(d); why != NotDropped {
		return lnd.Accept, why
	}
	if why := ni.checkTransit(d); why != NotDropped {
		return lnd.Accept, why
	}
	ni.noteHeard(d)
	from := d.Cache.(*peerNI)
	next, why := ni.node.nextHop(&d.Header, from)
	if why != NotDropped {
		return lnd.Accept, why
	}
	return ni.node.forward.ask(ni, d, from, next.peer)
}

// checkTransit refuses a message whose source cannot be behind the peer that brought it.
func (ni *NI) checkTransit(d *lnd.Delivery) DropReason {
	h := &d.Header
	switch {
	case !h.SrcNID.IsValid() || h.SrcNID.IsAny() || h.SrcNID.IsLo() || !h.DestNID.IsValid() || h.DestNID.IsAny() || h.DestNID.IsLo(),
		ni.node.niByNID(h.SrcNID) != nil:
		return BadSource
	case h.SrcNID.Net() == h.DestNID.Net():
		return NeedlessDetour
	case h.SrcNID != d.From.NID && ni.node.onNet(h.SrcNID.Net()):
		return ForeignSource // the source is on a net of this node, and needs no router
	case ni.node.failing.hits(&h.SrcNID):
		return SimulatedFailure
	}
	return ni.checkSource(d)
}

// nextHop chooses where a message goes next: to its destination, or to a gateway. It never
// sends a message back to the node that it came from.
func (n *Node) nextHop(h *wire.Header, from *peerNI) (hop, DropReason) {
	q := path.Query{Dest: h.DestNID, To: n.target(h.DestNID), Kind: path.Forward}
	c, err := path.Choose(n.view.Load().Table, &q)
	if err != nil {
		return hop{}, NoRoute
	}
	p, err := n.peers.get(c.Hop, c.Local.Owner.(*NI))
	switch {
	case errors.Is(err, syscall.ESHUTDOWN):
		return hop{}, NIShutdown
	case err != nil:
		return hop{}, PeerTableFull
	case p.nid == from.nid, p.known.Load() != nil && p.known.Load() == from.known.Load():
		return hop{}, RouteLoop
	case p.dead(h):
		return hop{}, NextHopDead
	}
	return hop{p, c}, NotDropped
}

// hop is the node that a message goes to next.
type hop struct {
	peer   *peerNI
	choice path.Choice
}

// onNet reports whether this node has an NI on a net.
func (n *Node) onNet(net nid.Net) bool {
	for _, ni := range *n.nis.Load() {
		if ni.cfg.Net == net {
			return true
		}
	}
	return false
}

// deadTime is how long a peer to which no connection could be made counts as dead. The first
// message after that time makes another try; local policy.
const deadTime = 5 * time.Second

// dead reports whether a message for the peer would not get there (lnet_peer_alive_locked): the peer says that its NI
// is down, or no connection to the peer's node, the process LustrePID, could be made a moment ago. Connections to
// other processes do not count, because senders can name any process. Only messages of other nodes are refused for
// that reason, and only requests: answers are always sent.
func (p *peerNI) dead(h *wire.Header) bool {
	if p.ni.cfg.Tunables.PeerTimeout <= 0 || h.Type == wire.Ack || h.Type == wire.Reply {
		return false
	}
	if p.remote.Down() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ni.node.cfg.Clock.Now() < p.deadUntil
}
