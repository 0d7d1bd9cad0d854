package lnet

import (
	"errors"
	"slices"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// arrived handles the end of a message's arrival: its payload is in its buffer, or will never
// be.
func (t *transit) arrived(d *lnd.Delivery, err error) {
	t.msg.Header = d.Header
	d.Owner, d.Sink = nil, lnd.Payload{}
	if err != nil {
		if !errors.Is(err, syscall.ESHUTDOWN) {
			t.from.cut()
		}
		t.end(TransitCut)
		return
	}
	t.ni.heal()
	t.from.heal()
	t.msg.reset()
	t.msg.Payload = lnd.Payload{}
	if t.buffer != nil {
		t.msg.Payload = lnd.Payload{Segments: t.memory[:], Length: len(t.memory[0])}
	}
	t.depart() // depart chooses the next hop anew, because its state may have changed while the payload arrived
}

// again sends the message of t anew: it has waited for a credit of an NI whose link has gone
// down.
func (t *transit) again() {
	t.ni.node.inFlight.dec()
	t.depart()
}

// depart sends the message of t to its next hop.
func (t *transit) depart() {
	n := t.ni.node
	next, why := n.nextHop(&t.msg.Header, t.from)
	if why != NotDropped {
		t.end(why)
		return
	}
	f := &n.forward
	f.mu.Lock()
	f.ledger.Depart(&t.ticket, next.peer.routerAccount(), n.cfg.Clock.Now())
	f.watch(n)
	f.mu.Unlock()
	n.sendTransit(&t.msg, &next)
}

// sent ends a message that has left, or could not.
func (t *transit) sent(err error) {
	if err != nil {
		t.end(failureOf(err))
		return
	}
	n, size := t.ni.node, t.msg.Payload.Length
	t.ni.traffic.countRouted(t.msg.Header.Type, size, false)
	t.from.traffic.countRouted(t.msg.Header.Type, size, false)
	t.msg.ni.traffic.countRouted(t.msg.Header.Type, size, true)
	t.msg.peer.traffic.countRouted(t.msg.Header.Type, size, true)
	n.forward.routed.Add(1)
	n.forward.length.Add(uint64(size))
	t.end(NotDropped)
}

// failureOf returns the drop reason of a message that could not leave because of err.
func failureOf(err error) DropReason {
	switch {
	case errors.Is(err, syscall.ESHUTDOWN):
		return NIShutdown
	}
	return ForwardFailed
}

// end gives the buffer and the credit of a message back, and counts it if it was dropped.
func (t *transit) end(why DropReason) {
	n := t.ni.node
	if why != NotDropped {
		n.drops[why].Add(1)
		t.ni.traffic.countDropped(t.msg.Header.Type, t.msg.Header.PayloadLength)
		t.from.traffic.countDropped(t.msg.Header.Type, t.msg.Header.PayloadLength)
	}
	f := &n.forward
	f.pool.Put(t.buffer)
	t.buffer, t.memory[0] = nil, nil
	f.mu.Lock()
	f.ledger.End(&t.ticket, n.cfg.Clock.Now())
	f.release(t)
	last := f.power.Mode() == router.Stopping && f.ledger.Tickets() == 0
	f.settle()
	if last {
		n.reviewRouting()
	}
}

// sendTransit sends a message to its next hop, as sendChosen does. The header stays as it came.
func (n *Node) sendTransit(m *Message, next *hop) {
	n.inFlight.inc()
	p := next.peer
	m.ni, m.Target = p.ni, nid.ProcessID{NID: p.nid, PID: nid.LustrePID}
	if next.choice.Gateway == nil {
		m.Target.PID = p.lastPID(m.Header.DestPID)
	}
	next.choice.Use(&p.remote.Remote, n.sent.Add(1))
	m.hop = &p.remote.Remote
	m.hop.Begin(m.wireBytes())
	n.sendTo(p, m)
}

// lastPID returns to which process at its destination p a message of another node goes, if its header
// names the process pid: to that one only if it is connected, or has the userspace flag, so that no
// driver dials it. Otherwise it goes to the node's own, LustrePID. Senders can name any process, and a
// driver would make a connection for each one.
func (p *peerNI) lastPID(pid nid.PID) nid.PID {
	pid = process(pid)
	if pid == nid.LustrePID || pid&nid.UserPID != 0 {
		return pid
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.connected, pid) {
		return pid
	}
	return nid.LustrePID
}

// finishTransit ends a message that was forwarded, as the method finish ends a message of this node.
func (n *Node) finishTransit(m *Message, err error) {
	n.inFlight.dec()
	n.leave(m)
	m.leaveHop()
	ni := m.ni
	if m.peer == nil {
		ni = nil // the message was given to no peer, so no NI has sent it
	}
	if err == nil {
		n.noteSent(m)
	}
	m.transit.sent(err)
	if ni != nil {
		ni.ended()
	}
}
