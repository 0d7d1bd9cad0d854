package fault

import (
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Wrap returns a driver that applies a plan to the messages of the NIs of d. All drivers of a
// node share one plan.
func Wrap(d lnd.Driver, p *Plan) lnd.Driver { return driver{d, p} }

// Unwrap returns the driver's own NI below ni, for example to take its snapshot. It returns ni
// itself if ni does not belong to a wrapped driver.
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
	ni.rules, _ = up.(ruleDropper)
	ni.alarm = machine.Alarm{Clock: d.plan.cfg.Clock, Call: ni.drain}
	lower, err := d.Driver.Startup(cfg, (*upward)(ni))
	if err != nil {
		ni.close()
		return nil, err
	}
	p := d.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	ni.lower, ni.nid = lower, lower.NID()
	if m, ok := lnd.AsMulticaster(lower); ok {
		ni.caster = m
	}
	p.nis = append(p.nis, ni)
	ni.arm() // set the timer for messages that arrived during Startup
	return ni, nil
}

// netIf is an NI of a wrapped driver, with the methods that lnet calls.
type netIf struct {
	plan   *Plan
	up     lnd.Upcalls
	lower  lnd.NI
	caster lnd.Multicaster // the same NI as lower; nil if it has no multicast
	nid    nid.NID
	isLo   bool
	rules  ruleDropper // the same value as up; nil if it is no ruleDropper

	closed   bool                       // guarded by plan.mu, like all fields below
	kept     kept                       // messages that are kept until they are due
	alarm    machine.Alarm              // passes on the first message in kept when it is due
	draining bool                       // a goroutine is in the method drain
	ends     []outcome                  // messages that the method end has to finalize, with their errors
	gets     map[*lnd.Delivery]*arrival // GETs for which the driver waits, see holdGet; nil: there have been none

	finalizing bool // a goroutine is in the method end
}

// NID implements lnd.NI.
func (ni *netIf) NID() nid.NID { return ni.nid }

// Send implements lnd.NI.
func (ni *netIf) Send(m *lnd.Message) {
	if ni.plan.active.Load() {
		ni.sendSpoiled(m)
		return
	}
	ni.give(m)
}

// sendSpoiled decides what happens to a message and does it.
func (ni *netIf) sendSpoiled(m *lnd.Message) {
	p := ni.plan
	p.mu.Lock()
	f := p.judge(&m.Header, receiver(m))
	now, size := p.cfg.Clock.Now(), m.Payload.Length
	rule, failure := ni.ruleLeaving(m, &f, now)
	keep, mayPass := ni.mustKeep(now, f.Delays[0]), ni.mayPass(f.Delays[0])
	twin := ni.double(m, &f, now)
	switch {
	case f.Lost && ni.closed, !f.Lost && keep && !mayPass && ni.ending():
		ni.end(m, syscall.ESHUTDOWN)
	case f.Lost:
		ni.end(m, nil)
	case keep && !ni.ending() && p.reserve(size, mayPass):
		ni.keep(item{due: now + f.Delays[0], ni: ni, m: m, rule: rule, failure: failure})
		p.mu.Unlock()
	case failure != nil && (!keep || mayPass):
		ni.end(m, failure)
	case !keep || mayPass:
		p.mu.Unlock()
		ni.give(m)
	default:
		ni.end(m, nil)
	}
	if twin != nil {
		ni.give(twin)
	}
}

// double makes the copy of a message that is duplicated, and keeps it or returns
// it to be sent at once. The caller holds plan.mu.
func (ni *netIf) double(m *lnd.Message, f *link.Outcome, now time.Duration) *lnd.Message {
	if f.Copies != 2 || ni.ending() || !ni.plan.reserve(m.Payload.Length, false) {
		return nil
	}
	twin := duplicate(m)
	if !ni.mustKeep(now, f.Delays[1]) {
		return twin
	}
	ni.keep(item{due: now + f.Delays[1], ni: ni, m: twin})
	return nil
}

// copied is the Owner of a duplicate that this package has made, so that it is not taken for a
// message of lnet.
type copied struct{ bytes int }

// duplicate returns a copy of m with a payload of its own.
func duplicate(m *lnd.Message) *lnd.Message {
	memory := m.Payload.AppendTo(make([]byte, 0, m.Payload.Length))
	return &lnd.Message{
		Header: m.Header, Target: m.Target, Priority: m.Priority, Group: m.Group, Owner: &copied{len(memory)},
		Payload: lnd.Payload{Segments: [][]byte{memory}, Length: len(memory)},
	}
}

// Recv implements lnd.NI.
func (ni *netIf) Recv(d *lnd.Delivery) {
	if a, ok := d.Driver.(*arrival); ok {
		a.complete()
		return
	}
	if !ni.plan.active.Load() || !ni.noteRecv(d) {
		ni.lower.Recv(d)
	}
}

// ClosePeer ends the connections to a peer, if the driver can.
func (ni *netIf) ClosePeer(peer nid.NID, incarnation uint64, cause error) {
	if c, ok := ni.lower.(lnd.PeerCloser); ok {
		c.ClosePeer(peer, incarnation, cause)
	}
}

// SetConnsPerPeer passes the number of connections on to the driver, if the driver has this
// setting.
func (ni *netIf) SetConnsPerPeer(n int) {
	if s, ok := ni.lower.(lnd.ConnsSetter); ok {
		s.SetConnsPerPeer(n)
	}
}

// Withdraw passes lnet's request to the driver, if the driver can withdraw messages. Copies that
// this package made are not withdrawn.
func (ni *netIf) Withdraw(want func(*lnd.Message) bool) {
	if w, ok := ni.lower.(lnd.Withdrawer); ok {
		w.Withdraw(func(m *lnd.Message) bool {
			_, copy := m.Owner.(*copied)
			return !copy && want(m)
		})
	}
}

// SetTimeout passes the time-out on to the driver, if the driver has this setting.
func (ni *netIf) SetTimeout(d time.Duration) {
	if s, ok := ni.lower.(lnd.TimeoutSetter); ok {
		s.SetTimeout(d)
	}
}
