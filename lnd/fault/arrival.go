package fault

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

// upward is a netIf with the methods of lnd.Upcalls, for the driver below.
type upward netIf

// arrival is a message that has arrived and does not reach lnet at once. It is
// the Owner of the driver's Delivery while the payload is read, and then has a
// Delivery of its own for lnet.
type arrival struct {
	ni     *netIf
	d      lnd.Delivery
	memory []byte // memory that holds the payload
	bytes  int    // bytes that count against MaxHeldBytes; 0 for a copy, which uses the memory of its original
	due    time.Duration
	twin   *arrival     // a copy of this arrival, which uses the same memory; nil: none
	rule   faultrule.ID // number of the delay rule that keeps this arrival; 0: none

	get       *lnd.Delivery // the driver's Delivery if the driver waits for Recv, otherwise nil; see holdGet. It is set once
	recv      bool          // lnet has called Recv for get; guarded by plan.mu
	abandoned bool          // the connection is gone, but Abandon has returned false for get, so Recv has to be called; guarded by plan.mu
}

// lost stands for the arrival of every message that is lost, and dropped for that of every message
// that a drop rule of LNet discards.
var lost, dropped = new(arrival), new(arrival)

// Parse implements lnd.Upcalls.
func (u *upward) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	ni := (*netIf)(u)
	if !ni.plan.active.Load() || d.Header.Validate() != nil {
		return ni.up.Parse(d)
	}
	a := ni.catch(d)
	switch {
	case a == nil:
		return ni.up.Parse(d)
	case a == dropped && ni.rules != nil:
		return lnd.Accept, ni.rules.DropByRule(d)
	case a.get != nil:
		return lnd.Hold, nil // Recv may have been called already, so d is not touched any more
	}
	d.Owner, d.Sink, d.Dropped = a, a.sink(), a == lost || a == dropped
	return lnd.Accept, nil
}

// catch returns the arrival of a message to which a fault applies, or nil. The plan's own rules
// have applied to messages of this node when they were sent: on arrival only LNet's rules apply
// to these.
func (ni *netIf) catch(d *lnd.Delivery) *arrival {
	p := ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	now, f := p.cfg.Clock.Now(), link.Outcome{Copies: 1}
	own := ni.isLo || p.isLocal(d.Header.SrcNID)
	if !own {
		f = p.judge(&d.Header, ni.reached(d))
	}
	if !f.Lost && p.lnet.Arrives(now, &d.Header, ni.nid) {
		return dropped
	}
	if ni.isLo {
		return nil
	}
	rule := p.ruleWaiting(&d.Header, &f, now)
	if own && rule == 0 {
		return nil
	}
	keep := ni.mustKeep(now, f.Delays[0])
	switch {
	case f.Lost:
		return lost
	case !keep && (f.Copies == 1 || ni.ending()):
		return nil
	}
	a := ni.store(d, &f, now)
	if a != nil && a != lost {
		a.rule = rule
		if d.RDMAGet {
			ni.holdGet(a, d)
		}
	}
	return a
}

// store makes the arrival of a message and of its copy. If there is no room, or the NI ends, it returns nil
// for a message that may be passed on at once, and the value lost for any other message. The caller holds
// plan.mu.
func (ni *netIf) store(d *lnd.Delivery, f *link.Outcome, now time.Duration) *arrival {
	p := ni.plan
	size := int(d.Header.PayloadLength)
	mayPass := ni.mayPass(f.Delays[0])
	if ni.ending() || !p.reserve(size, mayPass) {
		if f.Copies == 2 && !ni.ending() {
			p.overflow++
		}
		if mayPass {
			return nil
		}
		return lost
	}
	a := newArrival(ni, d, make([]byte, size), now+f.Delays[0])
	a.bytes = size
	if f.Copies == 2 && p.reserve(0, false) {
		a.twin = newArrival(ni, d, a.memory, now+f.Delays[1])
	}
	return a
}

func newArrival(ni *netIf, d *lnd.Delivery, memory []byte, due time.Duration) *arrival {
	a := &arrival{ni: ni, memory: memory, due: due}
	a.d.Header, a.d.From, a.d.Incarnation, a.d.Group, a.d.RDMAGet, a.d.Driver = d.Header, d.From, d.Incarnation, d.Group, d.RDMAGet, a
	return a
}

// sink returns the memory into which the driver reads the payload.
func (a *arrival) sink() lnd.Payload {
	if len(a.memory) == 0 {
		return lnd.Payload{}
	}
	return lnd.Payload{Segments: [][]byte{a.memory}, Length: len(a.memory)}
}

// Delivered implements lnd.Upcalls.
func (u *upward) Delivered(d *lnd.Delivery, err error) {
	a, ours := d.Owner.(*arrival)
	if !ours {
		u.up.Delivered(d, err)
		return
	}
	d.Owner, d.Sink = nil, lnd.Payload{}
	if a != lost && a != dropped {
		a.wait(err)
	}
}

// wait keeps an arrival, whose payload has been read, until it is due. If the reading has failed, or the NI
// ends, wait drops the arrival, of which lnet has not heard yet.
func (a *arrival) wait(err error) {
	p := a.ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; a != nil; a = a.twin {
		if err != nil || a.ni.ending() {
			p.release(a.bytes)
		} else {
			if a.rule != 0 && !p.lnet.Has(a.rule) { // the delay rule was removed while the arrival waited
				a.due = p.cfg.Clock.Now()
			}
			a.ni.keep(item{due: a.due, ni: a.ni, a: a, rule: a.rule})
		}
	}
}

// arrive gives an arrival to lnet.
func (a *arrival) arrive() {
	if a.get != nil {
		a.arriveGet()
		return
	}
	a.d.ReceivedAt = a.ni.plan.cfg.Clock.Now()
	answer, err := a.ni.up.Parse(&a.d)
	switch {
	case err != nil:
		p := a.ni.plan
		p.mu.Lock()
		p.refused++
		p.mu.Unlock()
		a.free()
	case answer == lnd.Accept:
		a.complete()
	}
	// If lnet has answered Hold, a may be in use again: another goroutine's Recv may have completed it.
}

// complete copies the payload to where lnet wants it, and ends the arrival.
func (a *arrival) complete() {
	a.d.Sink.CopyIn(a.memory)
	a.free()
	a.ni.up.Delivered(&a.d, nil)
}

// discard ends an arrival that is not passed to lnet.
func (a *arrival) discard() {
	if a.get != nil {
		a.endGet(true)
	} else {
		a.free()
	}
}

// free gives back the room that the arrival takes.
func (a *arrival) free() {
	p := a.ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(a.bytes)
}

// Finalize implements lnd.Upcalls.
func (u *upward) Finalize(m *lnd.Message, err error) {
	c, ours := m.Owner.(*copied)
	if !ours {
		u.up.Finalize(m, err)
		return
	}
	p := u.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(c.bytes)
}

// Waits implements lnd.Upcalls. It does not pass on the call for a copy that this package has made, which
// lnet does not know.
func (u *upward) Waits(m *lnd.Message) {
	if _, ours := m.Owner.(*copied); !ours {
		u.up.Waits(m)
	}
}

// PeerUp implements lnd.Upcalls.
func (u *upward) PeerUp(peer nid.ProcessID) { u.up.PeerUp(peer) }

// PeerDown implements lnd.Upcalls.
func (u *upward) PeerDown(peer nid.ProcessID, cause error) { u.up.PeerDown(peer, cause) }
