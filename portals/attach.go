package portals

import (
	"syscall"
)

// MDAttach attaches an MD to an ME that has none. Messages that wait on a lazy portal are
// matched against it before the call returns.
//
//	EINVAL  neither OpPut nor OpGet, more than 256 segments, bad MaxSize
//	ENOENT  no such ME, or the EQ was freed
//	EBUSY   the ME has an MD
//	ENOMEM  no more handles
func (t *Table) MDAttach(h MEHandle, conf MD, unlink UnlinkOption) (MDHandle, error) {
	length, err := conf.check()
	if err == nil && conf.Options&(OpPut|OpGet) == 0 {
		err = syscall.EINVAL
	}
	if err != nil {
		return 0, opError("MDAttach", err)
	}
	p, ref := t.lockME(h)
	if p == nil {
		return 0, opError("MDAttach", syscall.ENOENT)
	}
	handle, d, ready, err := t.attach(p, mePortal(h), ref, conf, length, unlink)
	p.mu.Unlock()
	if ready.n > 0 {
		t.release(ready)
		t.resume(d)
	}
	return handle, opError("MDAttach", err)
}

// Post adds a match entry at the end of a portal and attaches an MD to it: MEAttach and MDAttach in one call. Both end
// as unlink says. The errors are those of the two; after an error neither is there.
func (t *Table) Post(portal int, match Match, md MD, unlink UnlinkOption) (MEHandle, MDHandle, error) {
	entry, err := t.MEAttach(portal, match, unlink, After)
	if err != nil {
		return 0, 0, err
	}
	handle, err := t.MDAttach(entry, md, unlink)
	if err != nil {
		_ = t.MEUnlink(entry) // an error means that the table is closed
		return 0, 0, err
	}
	return entry, handle, nil
}

// attach attaches an MD to an ME. It returns the MD, and the held messages that the MD accepts
// or refuses. If there are any, messages for the MD that arrive before the call of resume are held
// until then. The caller holds p.mu.
func (t *Table) attach(p *portal, index int, ref meRef, conf MD, length int, unlink UnlinkOption) (
	handle MDHandle, d *md, ready operationList, err error,
) {
	e := p.me(ref)
	if e.md != 0 {
		return 0, nil, ready, syscall.EBUSY
	}
	if d, err = t.newMD(conf, length, unlink); err != nil {
		return 0, nil, ready, err
	}
	handle = d.handle
	d.me, d.portal = ref, uint8(index)
	e.md = d.slot + 1
	p.changes.Add(1)
	d.mu.Unlock()
	if ready = t.tryHeld(p, e); ready.n > 0 {
		d.crowd()
	}
	return handle, d, ready, nil
}

// MDUnlink ends an MD (LNetMDUnlink). Its handle becomes invalid at once. If no operation is
// under way, an UNLINK event is delivered before the call returns, or right after it if the
// MD's handler is running. Otherwise the event of the last operation to complete has Unlinked
// set. Messages that still wait for credits fail with ECANCELED. ENOENT: no such MD.
func (t *Table) MDUnlink(h MDHandle) error {
	d := t.lockMD(h)
	if d == nil {
		return opError("MDUnlink", syscall.ENOENT)
	}
	if d.me == 0 {
		t.unlink(d)
		return nil
	}
	// The portal's lock comes before the MD's: unlock the MD and take both in this order.
	p := &t.portals[d.portal]
	d.mu.Unlock()
	p.mu.Lock()
	if d = t.lockMD(h); d == nil {
		p.mu.Unlock()
		return opError("MDUnlink", syscall.ENOENT)
	}
	p.detach(d)
	p.mu.Unlock()
	t.unlink(d)
	return nil
}

// MEUnlink ends a match entry and its MD, if it has one, as MDUnlink does.
// ENOENT: no such ME.
func (t *Table) MEUnlink(h MEHandle) error {
	p, ref := t.lockME(h)
	if p == nil {
		return opError("MEUnlink", syscall.ENOENT)
	}
	e := p.me(ref)
	d := t.mdOf(e)
	if d == nil {
		p.freeME(ref)
		p.mu.Unlock()
		return nil
	}
	d.mu.Lock()
	e.unlink = Unlink
	p.detach(d)
	p.mu.Unlock()
	t.unlink(d)
	return nil
}

// unlink ends an MD that is attached to nothing. It is entered with d.mu held
// and returns with it released.
func (t *Table) unlink(d *md) {
	d.aborted.Store(true)
	t.endCalls(d)
	d.die()
	if d.refs > 0 {
		d.mu.Unlock()
		return
	}
	d.last = true
	o := t.newOperation()
	o.md = d
	o.event = Event{Kind: EventUnlink, Unlinked: true}
	d.describe(&o.event)
	t.deliver(d, o)
}

// detach takes an attached MD from its ME and makes it a zombie (see die). The ME ends too if it was attached with
// Unlink. The caller holds p.mu and d.mu.
func (p *portal) detach(d *md) {
	ref := d.me
	e := p.me(ref)
	d.die()
	d.me, e.md = 0, 0
	p.changes.Add(1)
	if e.unlink == Unlink {
		p.freeME(ref)
	}
}

// die makes an MD a zombie: its handle is unknown from now on and no answer is
// awaited any more. The caller holds d.mu.
func (d *md) die() { d.handle, d.zombie, d.awaited = 0, true, 0 }

// describe fills in the fields of an event that describe its MD.
func (d *md) describe(e *Event) {
	e.MD, e.Segments, e.Options, e.UserPtr = d.was, d.segments, d.options, d.userPtr
}
