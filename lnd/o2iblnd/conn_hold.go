package o2iblnd

import (
	"slices"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
)

// maxKept bounds, for each connection, the held messages whose credits are returned before lnet continues
// them. Further held messages keep their credits, which makes the peer wait. A peer may make hundreds of
// connections, so all of them together are bounded, too: by maxKept times the conns_per_peer of this side.
// Both bounds are local policy.
const maxKept = 64

// mayKeep reports whether the credit of one more held message of the peer may be returned early, and if so counts
// that message. If some connections of the peer use up the bound, the others still work: they only have fewer
// messages held before the peer waits.
func (p *peer) mayKeep() bool {
	if p.kept.Add(1) <= maxKept*int64(p.set.cfg.connsPerPeer) { // cfg does not change
		return true
	}
	p.kept.Add(-1)
	return false
}

// hold keeps a message until Recv. It returns false if Recv has come already. The payload of an
// IMMEDIATE is copied, so that its buffer and, up to maxKept messages, its credit can be returned. A
// PUT_REQ has no payload, and keeps its credit.
func (c *conn) hold(r *rx) bool {
	if r.buffer.Bytes != nil {
		kept := append(r.kept[:0], r.payload...)
		r.giveBack()
		r.kept, r.payload = kept, kept
	}
	c.mu.Lock()
	if r.recv {
		c.mu.Unlock()
		return false
	}
	r.held, r.batched = true, false
	c.held = append(c.held, r)
	if c.state == connOpen {
		if r.kind == kib.Immediate && len(c.held) <= maxKept && c.peer.mayKeep() {
			r.credited = true
			c.consumed.Add(1)
		}
		c.step(exchangeIn{kind: exchangeConsumed})
	}
	var over *Error
	if c.abandoned {
		over = c.x.failed
	}
	c.unlock()
	if over != nil {
		c.abandonHeld(over)
	}
	return true
}

// Recv implements lnd.NI.
func (ni *NI) Recv(d *lnd.Delivery) {
	r := d.Driver.(*rx)
	c := r.conn
	c.mu.Lock()
	if !r.held || r.leaving {
		r.recv = true
		c.mu.Unlock()
		return
	}
	r.held = false
	if i := slices.Index(c.held, r); i >= 0 {
		c.held = slices.Delete(c.held, i, i+1)
	}
	c.mu.Unlock()
	c.take(r)
}

// abandonHeld asks lnet to abandon the messages that it holds, because the connection has
// ended.
func (c *conn) abandonHeld(cause *Error) {
	c.mu.Lock()
	list := c.held
	c.held, c.abandoned = nil, true
	for _, r := range list {
		r.leaving, r.lost = true, cause
	}
	c.mu.Unlock()
	for _, r := range list {
		if c.ni.up.Abandon(&r.Delivery) {
			r.end(false)
			continue
		}
		c.mu.Lock()
		r.leaving = false
		came := r.recv
		if came {
			r.held = false
		}
		c.mu.Unlock()
		if came {
			c.take(r)
		}
	}
}
