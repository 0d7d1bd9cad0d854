package fault

import (
	"container/heap"
	"slices"

	"ulnet/lnd"
)

// The sender of some GETs waits until the driver has written the data to its memory (lnd.Delivery.RDMAGet). Such a
// GET has no payload to copy. But the driver must see in its own Delivery whether lnet has dropped the GET,
// because it has to tell the sender. So such a GET is not delayed as a copy: the driver waits for Recv, as for a
// GET that lnet holds, and lnet gets the driver's Delivery when the GET is due.

// holdGet keeps a GET, and its copy if there is one, until they are due. The caller holds plan.mu.
func (ni *netIf) holdGet(a *arrival, d *lnd.Delivery) {
	a.get = d
	if ni.gets == nil {
		ni.gets = make(map[*lnd.Delivery]*arrival)
	}
	ni.gets[d] = a
	for ; a != nil; a = a.twin {
		ni.keep(item{due: a.due, ni: ni, a: a, rule: a.rule})
	}
}

// arriveGet passes a GET to lnet. While lnet parses it, calls of Recv and Abandon for the GET are only recorded.
func (a *arrival) arriveGet() {
	ni, d := a.ni, a.get
	p := ni.plan
	d.ReceivedAt = p.cfg.Clock.Now()
	answer, err := ni.up.Parse(d)
	p.mu.Lock()
	gone := err != nil
	if gone {
		p.refused++
	} else if answer == lnd.Hold && a.abandoned && !a.recv {
		p.mu.Unlock()
		gone = ni.up.Abandon(d)
		p.mu.Lock()
	}
	stays := answer == lnd.Hold && !a.recv && !gone
	if stays { // lnet holds the GET now, as it would without a fault
		a.forgetGet()
	}
	p.mu.Unlock()
	if !stays {
		a.endGet(gone)
	}
}

// endGet lets the driver finish a GET. If gone is set, lnet does not have the GET, and the driver tells the sender
// that it was dropped.
func (a *arrival) endGet(gone bool) {
	p := a.ni.plan
	p.mu.Lock()
	a.forgetGet()
	p.mu.Unlock()
	if gone {
		a.get.Owner, a.get.Sink, a.get.Dropped = lost, lnd.Payload{}, true
	}
	if a.ni.lower != nil { // nil: the driver has not started, so it waits for nothing
		a.ni.lower.Recv(a.get)
	}
}

// forgetGet removes a GET from the list of GETs and frees its room. The caller holds plan.mu.
func (a *arrival) forgetGet() {
	delete(a.ni.gets, a.get)
	a.ni.plan.release(a.bytes)
}

// noteRecv records that lnet has called Recv for a GET while arriveGet passes it to lnet. It returns false for any
// other delivery.
func (ni *netIf) noteRecv(d *lnd.Delivery) bool {
	ni.plan.mu.Lock()
	defer ni.plan.mu.Unlock()
	a := ni.gets[d]
	if a != nil {
		a.recv = true
	}
	return a != nil
}

// Abandon implements lnd.Upcalls. It drops a GET that is kept here and that lnet does not know yet. Deliveries
// that this package has made need no connection, so drivers never abandon them.
func (u *upward) Abandon(d *lnd.Delivery) bool {
	p := u.plan
	p.mu.Lock()
	a := u.gets[d]
	if a == nil {
		p.mu.Unlock()
		return u.up.Abandon(d)
	}
	defer p.mu.Unlock()
	i := slices.IndexFunc(u.kept.normal, func(i item) bool { return i.a == a })
	if i < 0 { // arriveGet or endGet is about to call Recv, or to ask lnet
		a.abandoned = true
		return false
	}
	heap.Remove(&u.kept.normal, i)
	a.forgetGet()
	p.settle()
	return true
}
