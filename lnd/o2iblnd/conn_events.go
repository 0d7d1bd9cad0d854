package o2iblnd

import "ulnet/lnd/verbs"

// event handles an event of the device about the connection.
func (c *conn) event(vc verbs.Conn, e verbs.Event) {
	if c.ni.absences.meter == nil { // else this goroutine may be one that keeps the NI from nothing
		c.ni.upcalls.begin()
		defer c.ni.upcalls.end()
	}
	c.mu.Lock()
	if c.vc == nil {
		c.vc = vc
	}
	c.mu.Unlock()
	switch e.Kind {
	case verbs.Established:
		c.established(e.Private)
	case verbs.Rejected:
		if !c.dialled { // the peer refuses the CONNACK of this side, or no longer waits for it
			c.notMade(newError(PeerClosed, lustre(c.peer.id), nil))
			return
		}
		c.notEstablished(func() {
			p, mtu := c.peer, c.ni.dev.Attr().MTU
			p.mu.Lock()
			p.step(peerIn{kind: peerRejected, ask: c.ask, private: e.Private, reason: e.Reason, mtu: mtu})
			p.unlock()
		})
	case verbs.Unreachable:
		c.notMade(newError(Unreachable, lustre(c.peer.id), nil))
	case verbs.Disconnected:
		c.disconnected(e.Status)
	}
}

// notMade ends a connection that was given up by this side or the peer before it was established.
func (c *conn) notMade(cause *Error) {
	c.notEstablished(func() { c.tellSet(cause) })
}

// tellSet reports to the peer's set of connections (peerSet), which waits for c, that c was not
// established.
func (c *conn) tellSet(cause *Error) {
	if c.dialled {
		c.peer.attemptFailed(cause)
	} else {
		c.peer.acceptFailed(cause)
	}
}

// notEstablished ends a connection that was not established, and calls tell, which reports
// that to the peer's set of connections.
func (c *conn) notEstablished(tell func()) {
	c.mu.Lock()
	c.ended = true
	opening := c.state == connOpening
	if opening {
		c.state = connClosing
	}
	c.dropWaiting()
	if !opening {
		return
	}
	tell()
	c.mu.Lock()
	c.told = true
	c.unlock()
}

// disconnected handles the end of a connection in any state.
func (c *conn) disconnected(status verbs.Status) {
	cause := newError(PeerClosed, lustre(c.peer.id), nil)
	if status != verbs.Success {
		cause = newError(TransportFailed, lustre(c.peer.id), status)
	}
	c.mu.Lock()
	opening := c.state == connOpening
	c.mu.Unlock()
	if opening {
		c.notMade(cause)
		return
	}
	c.fail(cause)
	c.mu.Lock()
	c.ended = true
	c.endFlushed()
	c.unlock()
}

// established opens the connection for the messages that wait for it and those that have
// arrived already.
func (c *conn) established(private []byte) {
	p := c.peer
	p.mu.Lock()
	c.mu.Lock()
	if c.state != connOpening {
		c.mu.Unlock()
		p.mu.Unlock()
		return
	}
	if c.dialled {
		p.step(peerIn{kind: peerConnected, ask: c.ask, private: private})
		if refused := p.out.refused; refused != nil {
			c.state, c.told = connClosing, true
			p.events.Add(event{kind: eventNoted, err: refused})
			c.mu.Unlock()
			p.unlock()
			c.vc.Disconnect()
			c.mu.Lock()
			c.dropWaiting()
			return
		}
		c.depth, c.maxFrags = int(p.out.ack.QueueDepth), int(p.out.ack.MaxFrags)
		c.peerStamp, c.version, c.counting = p.set.stamp, p.set.version, p.out.counting
	} else {
		p.step(peerIn{kind: peerAccepted, stamp: c.peerStamp, version: c.version})
	}
	c.x = newExchange(c.ni.exchangeConfig(c, c.depth), c.ni.clock.Now())
	c.state, c.handling = connOpen, true
	p.attach(c)
	c.wakeAt = c.x.wake()
	c.mu.Unlock()
	p.unlock()
	c.mu.Lock()
	c.handleWaiting()
}
