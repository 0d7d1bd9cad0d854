package lnet

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// wantsDiscovery reports whether m must wait until discovery has brought what is known of its
// peer up to date. That is true of all PUTs and GETs, with three exceptions: those of discovery
// itself (lnet_msg_discovery), those to user processes, which take no part in discovery, and
// forwarded messages.
func (m *Message) wantsDiscovery() bool {
	if m.Routed || m.Header.DestPID&nid.UserPID != 0 {
		return false
	}
	switch m.Header.Type {
	case wire.Put:
		return m.Header.Put().Portal != wire.PingPortal
	case wire.Get:
		return m.Header.Get().Portal != wire.PingPortal
	}
	return false
}

// park keeps m until its peer is discovered, and requests the discovery. It is entered with
// p.mu held and returns with it released.
func (p *peerNI) park(m *Message) {
	n := p.ni.node
	if !n.backlog.admit(m, p.queue.Len()+p.parked.Len()) {
		p.mu.Unlock()
		n.finish(m, errBacklog)
		return
	}
	m.expires = n.within(n.TransactionTimeout())
	p.parked.Push(&m.Message)
	ask := !p.asked
	p.asked = true
	p.mu.Unlock()
	if discover := n.discover.Load(); ask && discover != nil {
		(*discover)(p.nid)
	}
}

// discoversGateway returns the function that requests a discovery, if m goes by p to a node beyond it, and nothing is
// known of p. In general a gateway is discovered by its checks, but these may be off. The caller holds
// p.mu.
func (p *peerNI) discoversGateway(m *Message) (discover *func(nid.NID)) {
	if p.current || p.asked || p.known.Load() != nil || m.Header.DestNID == p.nid || !m.wantsDiscovery() || p.evicted.Load() || p.gone != nil {
		return nil
	}
	discover = p.ni.node.discover.Load()
	p.asked = discover != nil
	return discover
}

// know stores what discovery knows of the peer. If the peer needs no more discovery, know sends the messages that
// wait for it (parked).
func (p *peerNI) know(known *Peer) {
	p.mu.Lock()
	p.known.Store(known)
	if known == nil {
		p.vetting.forgotten()
	}
	p.review()
}

// review decides anew whether the peer needs discovery; if not, the messages that wait for discovery are sent. It is
// entered with p.mu held and returns with it released.
func (p *peerNI) review() {
	p.current = p.known.Load().upToDate() || p.ni.node.discover.Load() == nil
	var again *lnd.Message
	if p.current {
		again = p.unpark()
	}
	p.mayJoin()
	p.launch(nil)
	p.ni.node.sendAllAgain(again)
}

// discovered sends the messages that wait for discovery, or fails them with err.
func (p *peerNI) discovered(err error) {
	known := p.known.Load()
	p.vetting.ended(err == nil && known != nil && known.Flags.Has(PeerDiscovered))
	p.mu.Lock()
	if err == nil {
		again := p.unpark()
		p.launch(nil)
		p.ni.node.sendAllAgain(again)
		return
	}
	p.asked = false
	list := p.parked.Take(func(*lnd.Message) bool { return true })
	p.mu.Unlock()
	p.ni.node.finishAll(list, err)
}

// unpark moves the messages that wait for discovery to the queue for credits. If there is more than one path now, or
// the link has gone down meanwhile, it returns them instead, as a list that is linked by the field Link. The caller
// holds p.mu.
func (p *peerNI) unpark() (again *lnd.Message) {
	p.asked = false
	if !p.ni.reaches(p.nid) || p.remote.Peer().Rails() || p.ni.linkError() != nil {
		return p.parked.Take(func(*lnd.Message) bool { return true })
	}
	for m := p.parked.Pop(); m != nil; m = p.parked.Pop() {
		p.queue.Push(m)
	}
	p.minCredits = min(p.minCredits, p.credits-p.queue.Len())
	return nil
}

// sendAllAgain chooses paths for messages that waited for discovery.
func (n *Node) sendAllAgain(list *lnd.Message) {
	for list != nil {
		m := owner(list)
		list, m.Link = m.Link, nil
		m.found = true
		n.sendAgain(m)
	}
}

// finishAll ends the messages of a list that is linked by the field Link.
func (n *Node) finishAll(list *lnd.Message, err error) {
	for list != nil {
		m := owner(list)
		list, m.Link = m.Link, nil
		n.finish(m, err)
	}
}

// primaryOf returns the primary NID of the node that a message came from. It
// costs one load when the message comes from the NID of its connection.
func (ni *NI) primaryOf(d *lnd.Delivery) nid.NID {
	src := d.Header.SrcNID
	p, ok := d.Cache.(*peerNI)
	if !ok || p.nid != src {
		return ni.node.Primary(src)
	}
	if known := p.known.Load(); known != nil {
		return known.Primary
	}
	return src
}
