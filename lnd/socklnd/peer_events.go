package socklnd

import (
	"errors"
	"time"

	"ulnet/lnd"
)

// event is something to report to lnet or to write to the log, once no lock is held.
type event struct {
	kind   eventKind
	failed lnd.Queue
	err    error
}

type eventKind uint8

const (
	eventFailed eventKind = iota // finalize the messages with err
	eventUp
	eventDown
	eventLogged // write err to the log
)

// unlock releases p.mu and makes the reports that were added while it was locked, in order. Then it
// removes p from the table of peers if p has no state that is worth keeping.
func (p *peer) unlock() {
	if !p.events.Begin() {
		p.mu.Unlock()
		return
	}
	p.ni.peers.Tasks.Add(1) // adding a task is allowed: p is not shut down yet, and Shutdown waits until all reports are made
	defer p.ni.peers.Tasks.Done()
	p.events.Tell(&p.mu, p.tell)
	p.forget() // an earlier call may have done nothing: forget does nothing while reports of p are being made
}

// forget removes p if it has no state, so that short-lived peers do not fill the table until the next scan.
func (p *peer) forget() {
	p.ni.peers.Forget(p.id, p, func(p *peer) bool { return p.remove(p.ni.clock.Now()) })
}

func (p *peer) tell(e *event) {
	switch e.kind {
	case eventFailed:
		for m := e.failed.Pop(); m != nil; m = e.failed.Pop() {
			p.ni.finalize(m, e.err)
		}
	case eventUp:
		p.ni.up.PeerUp(p.id)
	case eventDown:
		p.ni.up.PeerDown(p.id, e.err)
	case eventLogged:
		p.ni.logFailure(p.id, e.err)
	}
}

// report counts the reason of err, which is an *Error, logs it after unlock,
// and returns it.
func (p *peer) report(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		p.ni.counts.count(e.Reason)
		p.events.Add(event{kind: eventLogged, err: e})
	}
	return err
}

// failMessage has m finalized with err after unlock.
func (p *peer) failMessage(m *lnd.Message, err error) {
	e := event{kind: eventFailed, err: err}
	e.failed.Push(m)
	p.events.Add(e)
}

// failPending has all messages that wait for a connection finalized with err after unlock.
func (p *peer) failPending(err error) {
	if p.pending.Len() > 0 {
		p.events.Add(event{kind: eventFailed, failed: p.pending, err: err})
		p.pending = lnd.Queue{}
	}
}

// failLate has the waiting messages finalized after unlock that must have left by now.
func (p *peer) failLate(now time.Duration) {
	var late lnd.Queue
	if pushList(&late, p.pending.Take(func(m *lnd.Message) bool { return m.Late(now) })); late.Len() > 0 {
		p.events.Add(event{kind: eventFailed, failed: late, err: lnd.ErrLate})
	}
}
