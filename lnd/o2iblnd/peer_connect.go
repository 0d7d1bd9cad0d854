package o2iblnd

import (
	"time"

	"ulnet/lnet/machine"
)

// wake schedules a step of the set at an instant, unless an earlier one is scheduled. The
// caller holds p.mu.
func (p *peer) wake(now, at time.Duration) {
	if at >= p.timerAt {
		return
	}
	p.timerAt = at
	p.ni.peers.After(at-now, func() {
		p.mu.Lock()
		p.timerAt = machine.Never
		p.step(peerIn{kind: peerTimer})
		p.unlock()
	})
}

// connect requests a connection, unless the peer's request has come first.
func (p *peer) connect(a ask) {
	p.mu.Lock()
	needless := p.set.needless(p.ni.clock.Now())
	p.mu.Unlock()
	if needless {
		p.attemptFailed(newError(RejectedRace, lustre(p.id), nil))
		return
	}
	p.ni.connect(p, a)
}

// withdraw gives up all attempts that are not answered.
func (p *peer) withdraw() {
	for _, c := range p.ni.conns.all() {
		if c.peer == p && c.dialled {
			c.withdraw(newError(RejectedRace, lustre(p.id), nil))
		}
	}
}

// withdraw ends a connection that is not established. It returns false if c is established or has
// ended.
func (c *conn) withdraw(cause *Error) bool {
	c.mu.Lock()
	if c.state != connOpening {
		c.mu.Unlock()
		return false
	}
	c.state = connClosing
	known := c.vc != nil
	c.mu.Unlock()
	c.tellPeer(cause)
	if known {
		c.giveUp()
	}
	return true
}
