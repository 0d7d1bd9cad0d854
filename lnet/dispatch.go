package lnet

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/wire"
)

// view has everything that the choice of a path reads. It is replaced on change.
type view struct {
	*path.Table
	sole *NI // the only NI apart from lo; nil if there are several
}

// look replaces the view by a new one. The caller holds n.mu.
func (n *Node) look() {
	var locals []*path.Local
	v := &view{}
	for _, ni := range *n.nis.Load() {
		if !ni.isLo() {
			locals = append(locals, &ni.rail)
			v.sole = ni
		}
	}
	if len(locals) != 1 {
		v.sole = nil
	}
	v.Table = path.NewTable(locals, n.routes)
	n.ruleLocals(v.Nets) // ruleLocals may change v.Nets, because no other goroutine can see v before it is stored
	n.view.Store(v)
	for _, l := range locals {
		ni := l.Owner.(*NI)
		ni.mu.Lock()
		ni.tellCredits()
		ni.mu.Unlock()
	}
}

// tellCredits stores the NI's credits where the choice of paths reads them. The caller holds
// ni.mu.
func (ni *NI) tellCredits() {
	if v := ni.node.view.Load(); v != nil && v.sole == nil {
		ni.rail.SetCredits(ni.tx.free() - ni.tx.wanted)
	}
}

// SetRoutes replaces the routes by which messages leave the node's nets. The state of
// each, alive or not, may change at any time; all other fields belong to the node
// afterwards. The node fills in NI.
func (n *Node) SetRoutes(routes []*path.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peers.pin(routes, n.routes)
	n.routes = slices.Clone(routes)
	n.look()
}

// Rail is the state of the NI that the choice of paths reads: health, link, priority.
func (ni *NI) Rail() *path.Local { return &ni.rail }

// Rail is the state of a NID of another node, or nil if this node does not know the NID.
func (n *Node) Rail(id nid.NID) *path.Remote {
	n.peers.mu.RLock()
	defer n.peers.mu.RUnlock()
	if r := n.peers.remotes[id]; r != nil {
		return &r.Remote
	}
	return nil
}

// dispatch chooses a path for m, from the destination and source that its sender asked for,
// and sends it there. It may be called again for a message that has not ended and does not
// wait anywhere. The functions that run for every message read NIDs in place, in the header: to
// copy a NID, and at once copy the copy, stalls the processor (store forwarding fails).
func (n *Node) dispatch(m *Message) {
	if m.Answers != nil && !m.answersRouted() {
		n.sendBack(m)
		return
	}
	if lo, err := n.loopback(m); lo != nil || err != nil {
		if err != nil {
			n.finish(m, err)
			return
		}
		n.address(m, lo)
		m.Target = nid.ProcessID{NID: m.dest, PID: m.Header.DestPID}
		n.sendBy(lo, m)
		return
	}
	if m.Answers == nil && n.sendStraight(m) {
		return
	}
	n.sendChosen(m)
}

// sendBack sends an answer by the connection that brought the request.
func (n *Node) sendBack(m *Message) {
	n.address(m, m.Answers)
	m.Target = m.Asker
	n.sendBy(m.Answers, m)
}

// answersRouted reports whether the request came through a router.
func (m *Message) answersRouted() bool {
	return !m.Answers.isLo() && m.Header.DestNID.Net() != m.Answers.cfg.Net && m.Answers.node.view.Load().Routes != nil
}

// loopback returns lo for a message to one of the node's own NIDs. Such a message goes by no other
// NI, because this node would refuse it on arrival.
func (n *Node) loopback(m *Message) (*NI, error) {
	dst := &m.Header.DestNID
	if !dst.IsValid() || dst.IsAny() {
		return nil, syscall.EINVAL
	}
	if src := &m.Source; src.IsValid() && !src.IsAny() && n.niByNID(*src) == nil {
		return nil, fmt.Errorf("the source %v is no NID of this node: %w", *src, syscall.EINVAL)
	}
	if !dst.IsLo() && !n.hasNID(dst) {
		if m.Source.IsLo() {
			return nil, fmt.Errorf("%v from 0@lo: %w", *dst, syscall.EHOSTUNREACH)
		}
		return nil, nil
	}
	if lo := n.niByNID(nid.Lo0()); lo != nil {
		return lo, nil
	}
	return nil, fmt.Errorf("%v is here, and this node has no loopback NI: %w", *dst, syscall.EHOSTUNREACH)
}

func (n *Node) hasNID(id *nid.NID) bool {
	for _, ni := range *n.nis.Load() {
		if ni.nid == *id {
			return true
		}
	}
	return false
}

// sendStraight sends a message for which there is nothing to choose: this node has one NI, and the
// destination's node has one NID.
func (n *Node) sendStraight(m *Message) bool {
	ni := n.view.Load().sole
	dst := &m.Header.DestNID
	if ni == nil || ni.cfg.Net != dst.Net() || ni.nid.Is4() != dst.Is4() {
		return false
	}
	p := ni.recent.find(dst)
	var err error
	if p == nil {
		p, err = n.peers.get(*dst, ni)
	}
	if err != nil {
		n.finish(m, err)
		return true
	}
	if p.remote.Peer().Rails() {
		return false
	}
	n.address(m, ni)
	m.Target.NID, m.Target.PID = p.nid, m.Header.DestPID
	n.sendTo(p, m)
	return true
}

// linkChanges is how often sendChosen chooses again if the link of the NI that it has chosen is down. A choice
// that begins after the last change of a link takes one that is up, if there is any.
const linkChanges = 3

// sendChosen sends m by the best path.
func (n *Node) sendChosen(m *Message) {
	v := n.view.Load()
	q := path.Query{Source: m.Source, Dest: m.dest, To: n.target(m.dest), Kind: m.kind()}
	if m.Answers != nil {
		q.Source, q.Router = m.Answers.nid, m.Asker.NID
	}
	c, err := path.Choose(v.Table, &q)
	for range linkChanges {
		if err != nil || c.Local.Owner.(*NI).linkError() == nil {
			break
		}
		c, err = path.Choose(v.Table, &q) // if the link has just gone down, another NI may be up
	}
	if m.Answers != nil && errors.Is(err, syscall.EINVAL) { // the NI is being removed, so the view has no path from it
		n.sendBack(m)
		return
	}
	if err != nil {
		n.finish(m, fmt.Errorf("no path to %v: %w", m.dest, err))
		return
	}
	ni := c.Local.Owner.(*NI)
	if err := ni.linkError(); err != nil && m.Answers == nil {
		n.finish(m, err)
		return
	}
	m.Header.DestNID = c.Dest
	n.address(m, ni)
	m.Target = nid.ProcessID{NID: c.Hop, PID: m.Header.DestPID}
	if c.Gateway != nil {
		m.Target.PID = nid.LustrePID
		if n.discoversBeyond(m, ni) {
			return
		}
	}
	p, err := n.peers.get(c.Hop, ni)
	if err != nil {
		n.finish(m, err)
		return
	}
	m.chosen = true
	if m.expires == 0 && !m.Routed {
		m.expires = n.within(n.TransactionTimeout())
	}
	c.Use(&p.remote.Remote, n.sent.Add(1))
	m.hop = &p.remote.Remote
	m.hop.Begin(m.wireBytes())
	n.sendTo(p, m)
}

// kind returns the kind of m, on which the choice of its path depends.
func (m *Message) kind() path.Kind {
	h := &m.Header
	switch {
	case m.Routed:
		return path.Forward
	case m.Recovery:
		return path.Recovery
	case h.Type == wire.Ack || h.Type == wire.Reply:
		return path.Response
	case h.Type == wire.Put && h.Put().Portal == wire.PingPortal, h.Type == wire.Get && h.Get().Portal == wire.PingPortal:
		return path.Reserved
	}
	return path.Request
}

// discoversBeyond makes a message to a node beyond a gateway wait for the discovery of that
// node, unless the message has waited already.
func (n *Node) discoversBeyond(m *Message, ni *NI) bool {
	if m.found || !m.wantsDiscovery() || n.discover.Load() == nil {
		return false
	}
	p, err := n.peers.get(m.Header.DestNID, ni)
	if err != nil {
		n.finish(m, err)
		return true
	}
	p.mu.Lock()
	if p.current || p.evicted.Load() || p.gone != nil {
		p.mu.Unlock()
		return false
	}
	m.peer = p
	ni.pending.Add(1)
	p.park(m)
	return true
}

// sendBy sends m to its target from ni.
func (n *Node) sendBy(ni *NI, m *Message) {
	if ni.isLo() {
		m.peer = nil
		ni.lower.Send(&m.Message)
		return
	}
	p, err := n.peers.get(m.Target.NID, ni)
	if err != nil {
		n.finish(m, err)
		return
	}
	n.sendTo(p, m)
}

// sendTo gives m to p, or to the peer that has taken its place in the table.
func (n *Node) sendTo(p *peerNI, m *Message) {
	for ni := p.ni; ; {
		m.peer = p
		ni.pending.Add(1)
		if p.send(m) {
			return
		}
		ni.ended()
		next, err := n.peers.get(p.nid, ni)
		if err != nil {
			m.peer = nil
			n.finish(m, err)
			return
		}
		p = next
	}
}

// sendWithoutLink chooses another path for a message if the link of the path that was chosen has gone down since. If
// the message had no choice of paths, sendWithoutLink ends it with the error err. This does not go on for ever:
// sendChosen ends a message for which no link is up.
func (n *Node) sendWithoutLink(m *Message, err error) {
	if m.chosen && m.transit == nil {
		m.chosen = false // the other NIs may be gone: then there is no choice any more
		n.sendAgain(m)
		return
	}
	n.finish(m, err)
}

// sendAgain chooses another path for a message that has not left, nor ended.
func (n *Node) sendAgain(m *Message) {
	ni := m.ni
	n.leave(m)
	m.leaveHop()
	m.peer, m.ni = nil, nil
	if m.transit != nil {
		m.transit.again()
	} else {
		m.Header.DestNID = m.dest
		n.dispatch(m)
	}
	ni.ended()
}

// leaveHop takes m off the count of messages on their way to its next hop, to which Begin has added it. A
// second call does nothing.
func (m *Message) leaveHop() {
	if m.hop != nil {
		m.hop.End(m.wireBytes())
		m.hop = nil
	}
}

// address fills in the source, which lnet decides. The header of a message that this node
// routes stays as the sender wrote it.
func (n *Node) address(m *Message, ni *NI) {
	h := &m.Header
	m.ni = ni
	if m.Routed {
		return
	}
	h.SrcNID, h.SrcPID = ni.nid, n.cfg.PID
	if ni.isLo() && !h.DestNID.IsLo() {
		// The message goes through lo to a NID other than 0@lo. Both ends keep the NID that
		// the caller used, so that match ids and events have it.
		h.SrcNID = h.DestNID
	}
	if h.DestPID == nid.PIDAny || h.DestPID == 0 {
		h.DestPID = nid.LustrePID
	}
}
