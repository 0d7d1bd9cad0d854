package portals

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// MaxHeld bounds the messages that are held at one portal, those of all neighbours together. For each connection
// the TCP driver holds at most one message, the RDMA driver several; both give them up when the connection ends.
//
// One neighbour may have thousands of connections. So at most as many of its messages are held as there is room left
// for (the dynamic threshold of shared-memory switches): half of MaxHeld if no others are held, a third each if two
// neighbours have all that they may. Further messages are dropped. A neighbour is known by the NID of the other end of its connections, as in share.
const MaxHeld = 1 << 16

// mayHold reports whether the portal may hold one more message of a NID. The caller holds p.mu.
func (p *portal) mayHold(from nid.NID) bool {
	return p.heldOf[from] < MaxHeld-p.held.n-p.setApart()
}

// heldMessage is an operation whose message is held. It is the Owner of the delivery for as long as the
// message is in portal.held or waits for a slot; this field changes under the portal's lock.
type heldMessage operation

// keep notes that the message of an operation is held. The caller holds p.mu.
func (p *portal) keep(o *operation) {
	if p.heldOf == nil {
		p.heldOf = make(map[nid.NID]int)
	}
	p.heldOf[o.d.From.NID]++
	o.d.Owner = (*heldMessage)(o)
}

// letGo notes that the message of an operation is no longer held. The caller holds p.mu.
func (p *portal) letGo(o *operation) {
	from := o.d.From.NID
	if n := p.heldOf[from] - 1; n > 0 {
		p.heldOf[from] = n
	} else {
		delete(p.heldOf, from)
	}
	o.d.Owner = nil
}

// abandon takes a message off the portal and returns its operation; nil: the message is not held any more.
func (p *portal) abandon(d *lnd.Delivery) *operation {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := d.Owner.(*heldMessage)
	if !ok {
		return nil
	}
	o := (*operation)(h)
	p.letGo(o)
	if o.apart != nil {
		o.apart.remove(o)
	} else {
		p.held.remove(o)
	}
	return o
}
