package portals

import (
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// SetLazy makes a portal hold PUTs that no ME takes, until an ME does (LNetSetLazyPortal).
// Their payload stays with the driver; on TCP a held PUT blocks the connection that brought
// it. EINVAL: no such portal.
func (t *Table) SetLazy(index int) error {
	p := t.portal(index)
	if p == nil {
		return opError("SetLazy", syscall.EINVAL)
	}
	p.mu.Lock()
	p.lazy = true
	p.mu.Unlock()
	return nil
}

// ClearLazy makes a portal drop PUTs that no ME takes, also those that it holds
// (LNetClearLazyPortal). It ends the bound that SetShare has set. EINVAL: no such portal.
func (t *Table) ClearLazy(index int) error {
	p := t.portal(index)
	if p == nil {
		return opError("ClearLazy", syscall.EINVAL)
	}
	p.mu.Lock()
	p.lazy = false
	p.mu.Unlock()
	dropped := p.takeHeld(func(o *operation) bool { return o.waits == nil })
	t.discard(dropped, lnet.LazyCleared)
	p.endShare(nil)
	return nil
}

// tryHeld matches the held PUTs that wait for any MD, oldest first, against the MD that was
// just attached to e, until that MD is exhausted. It returns the PUTs that the MD accepts, and
// those that are too long for it, whose field md is nil (lnet_ptl_attach_md). The caller holds
// p.mu.
func (t *Table) tryHeld(p *portal, e *me) (ready operationList) {
	var kept operationList
	for p.held.n > 0 && t.takesMore(e) {
		o := p.held.pop()
		if o.waits != nil {
			kept.push(o)
			continue
		}
		r := requestOf(o.d)
		d, offset, mlength, out := t.try(p, e, &r)
		switch out {
		case matched:
			if o.share == nil {
				o.share = p.occupy(o.d.From.NID)
			}
			p.letGo(o)
			o.accept(o.d, d, offset, mlength)
			ready.push(o)
		case tooLong:
			p.letGo(o)
			o.why = lnet.TooLong
			ready.push(o)
		default:
			kept.push(o)
		}
	}
	kept.append(p.held)
	p.held = kept
	return ready
}

// takesMore reports whether an ME has an MD that is not exhausted. The caller
// holds the portal's lock.
func (t *Table) takesMore(e *me) bool {
	d := t.mdOf(e)
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.exhausted()
}

// release makes the driver receive or discard messages that are no longer held.
func (t *Table) release(ready operationList) {
	for o := ready.pop(); o != nil; o = ready.pop() {
		d, ni := o.d, o.ni
		o.d = nil
		if o.md == nil {
			why, share, from := o.why, o.share, d.From.NID
			t.freeOperation(o)
			ni.Discard(d, why)
			t.leave(share, from)
			continue
		}
		o.begun()
		ni.Recv(d)
	}
}

func (t *Table) discard(list operationList, why lnet.DropReason) {
	for o := list.pop(); o != nil; o = list.pop() {
		d, ni, share, from := o.d, o.ni, o.share, o.d.From.NID
		t.freeOperation(o)
		ni.Discard(d, why)
		t.leave(share, from)
	}
}

// Abandon implements lnet.Upper: the connection of message d has ended. Abandon drops the message if it is
// still held, and reports whether it was. Its cost does not depend on how many messages are held: a peer
// with many connections can make all of them end at once.
func (u *upper) Abandon(_ *lnet.NI, d *lnd.Delivery) bool {
	t := u.table()
	p := t.portal(int(portalOf(&d.Header)))
	if p == nil {
		return false
	}
	o := p.abandon(d)
	if o == nil {
		return false
	}
	share := o.share
	t.freeOperation(o)
	t.leave(share, d.From.NID)
	return true
}

// portalOf returns the portal to which a held PUT or GET was sent.
func portalOf(h *wire.Header) uint32 {
	if h.Type == wire.Get {
		return h.Get().Portal
	}
	return h.Put().Portal
}

// takeHeld takes the held messages for which take returns true off the portal.
func (p *portal) takeHeld(take func(*operation) bool) (taken operationList) {
	var kept operationList
	p.mu.Lock()
	defer p.mu.Unlock()
	for o := p.held.pop(); o != nil; o = p.held.pop() {
		if take(o) {
			p.letGo(o)
			taken.push(o)
		} else {
			kept.push(o)
		}
	}
	p.held = kept
	if p.setApart() > 0 {
		p.share.takeApart(take, &taken)
	}
	return taken
}

// Detach implements lnet.Upper: it drops the held messages that came by an NI that is shut down.
func (u *upper) Detach(ni *lnet.NI) {
	t := u.table()
	for i := range t.portals {
		gone := t.portals[i].takeHeld(func(o *operation) bool { return o.ni == ni })
		t.discard(gone, lnet.NIShutdown)
	}
}
