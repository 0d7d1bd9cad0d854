package fault

import (
	"context"
	"slices"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Wrap returns a driver that does to the messages of the NIs of d what the plan
// says. One plan is for all drivers of a node.
func Wrap(d lnd.Driver, p *Plan) lnd.Driver { return driver{d, p} }

// Unwrap returns the NI of the driver below, for its snapshot, or ni itself if
// it is not one of a wrapped driver.
func Unwrap(ni lnd.NI) lnd.NI {
	if f, ok := ni.(*netIf); ok {
		return f.lower
	}
	return ni
}

type driver struct {
	lnd.Driver
	plan *Plan
}

// Startup implements lnd.Driver.
func (d driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni := &netIf{plan: d.plan, up: up, isLo: cfg.Net.Type() == nid.Lo}
	lower, err := d.Driver.Startup(cfg, (*upward)(ni))
	if err != nil {
		ni.close()
		return nil, err
	}
	p := d.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	ni.lower, ni.nid = lower, lower.NID()
	p.nis = append(p.nis, ni)
	ni.arm() // for what has arrived meanwhile
	return ni, nil
}

// netIf is an NI as lnet sees it.
type netIf struct {
	plan  *Plan
	up    lnd.Upcalls
	lower lnd.NI
	nid   nid.NID
	isLo  bool

	closed   bool          // guarded by plan.mu, and all below
	kept     kept          // what is not due yet
	timer    machine.Timer // for the first of kept; nil: none is set
	draining bool          // a goroutine is in drain
	losing   int           // goroutines that finalize a message which was lost
}

// NID implements lnd.NI.
func (ni *netIf) NID() nid.NID { return ni.nid }

// Send implements lnd.NI.
func (ni *netIf) Send(m *lnd.Message) {
	if ni.plan.active.Load() {
		ni.sendSpoiled(m)
		return
	}
	ni.lower.Send(m)
}

// sendSpoiled decides what happens to a message and does it.
func (ni *netIf) sendSpoiled(m *lnd.Message) {
	p := ni.plan
	p.mu.Lock()
	if ni.closed {
		p.mu.Unlock()
		ni.lower.Send(m)
		return
	}
	f := p.judge(&m.Header)
	now, size := p.cfg.Clock.Now(), m.Payload.Length
	var twin *lnd.Message // to be sent at once
	if f.Copies == 2 && p.reserve(size, false) {
		twin = duplicate(m)
		if ni.mustKeep(now, f.Delays[1]) {
			ni.keep(item{due: now + f.Delays[1], ni: ni, m: twin})
			twin = nil
		}
	}
	switch {
	case f.Lost:
		ni.lose(m)
		return
	case !ni.mustKeep(now, f.Delays[0]):
		p.mu.Unlock()
		ni.lower.Send(m)
	case p.stopped:
		p.mu.Unlock()
		ni.up.Finalize(m, syscall.ESHUTDOWN)
	case p.reserve(size, ni.mayPass(f.Delays[0])):
		ni.keep(item{due: now + f.Delays[0], ni: ni, m: m})
		p.mu.Unlock()
	case ni.mayPass(f.Delays[0]):
		p.mu.Unlock()
		ni.lower.Send(m)
	default:
		ni.lose(m)
	}
	if twin != nil {
		ni.lower.Send(twin)
	}
}

// lose finalizes a message that was lost. It is entered with plan.mu held and
// returns with it released.
func (ni *netIf) lose(m *lnd.Message) {
	p := ni.plan
	ni.losing++
	p.mu.Unlock()
	ni.up.Finalize(m, nil)
	p.mu.Lock()
	ni.losing--
	p.quiet.Broadcast()
	p.mu.Unlock()
}

// copied is the owner of a copy: it is not lnet's.
type copied struct{ bytes int }

// duplicate returns a copy of m with a payload of its own.
func duplicate(m *lnd.Message) *lnd.Message {
	memory := m.Payload.AppendTo(make([]byte, 0, m.Payload.Length))
	return &lnd.Message{
		Header: m.Header, Target: m.Target, Priority: m.Priority, Owner: &copied{len(memory)},
		Payload: lnd.Payload{Segments: [][]byte{memory}, Length: len(memory)},
	}
}

// Recv implements lnd.NI.
func (ni *netIf) Recv(d *lnd.Delivery) {
	if a, ok := d.Driver.(*arrival); ok {
		a.complete()
		return
	}
	ni.lower.Recv(d)
}

// Shutdown implements lnd.NI. What is kept does not leave any more, so that a
// node that is paused can end.
func (ni *netIf) Shutdown(ctx context.Context) error {
	ni.close()
	err := ni.lower.Shutdown(ctx)
	p := ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nis = slices.DeleteFunc(p.nis, func(o *netIf) bool { return o == ni })
	p.settle()
	return err
}

// close fails what is kept, and keeps nothing more.
func (ni *netIf) close() {
	p := ni.plan
	p.mu.Lock()
	ni.closed = true
	left := ni.takeKept()
	for ni.draining || ni.losing > 0 {
		p.quiet.Wait()
	}
	p.mu.Unlock()
	for i := range left {
		left[i].fail()
	}
}
