package fault

import (
	"container/heap"
	"slices"

	"ulnet/lnd"
)

// A GET whose sender waits until the driver has written the data to its memory (lnd.Delivery.RDMAGet) has
// no payload to read, but the driver must learn from its own Delivery whether lnet has dropped the GET:
// then the driver tells the sender so. Such a GET is therefore not delayed as a copy: the driver waits for
// Recv, as for a GET that lnet holds, and lnet gets the driver's Delivery when the GET is due.

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

// arriveGet gives a GET to lnet. Until it has ended, calls of Recv and Abandon for the GET are only noted.
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
	if stays { // from now on the GET is one that lnet holds, as without a fault
		a.forgetGet()
	}
	p.mu.Unlock()
	if !stays {
		a.endGet(gone)
	}
}

// endGet lets the driver go on with a GET. The parameter gone says that lnet does not have the GET: then the
// driver tells the sender so, as if lnet had dropped the GET.
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

// forgetGet ends what is kept of a GET. The caller holds plan.mu.
func (a *arrival) forgetGet() {
	delete(a.ni.gets, a.get)
	a.ni.plan.release(a.bytes)
}

// noteRecv notes that lnet has called Recv for a GET while arriveGet gives it to lnet, and returns false for
// any other delivery.
func (ni *netIf) noteRecv(d *lnd.Delivery) bool {
	ni.plan.mu.Lock()
	defer ni.plan.mu.Unlock()
	a := ni.gets[d]
	if a != nil {
		a.recv = true
	}
	return a != nil
}

// Abandon implements lnd.Upcalls. It drops a GET that is kept here, of which lnet has not heard yet. A
// delivery that this package made needs no connection, so it is never abandoned.
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
