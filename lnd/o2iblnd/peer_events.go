package o2iblnd

import "ulnet/lnd"

// event is something to be done once no lock is held: to tell lnet or the log, to ask for
// a connection, or to end one.
type event struct {
	kind   eventKind
	failed *tx // list of failed messages, linked through next
	conn   *conn
	ask    ask
	err    *Error
	quiet  bool // for eventNoted: count and log err only if its reason is ordinary
}

type eventKind uint8

const (
	eventFailed   eventKind = iota // finalize the messages in failed with err
	eventLate                      // finalize the messages in failed with lnd.ErrLate
	eventUp                        // tell lnet that the peer is up
	eventDown                      // tell lnet that the peer is down because of err
	eventNoted                     // count err and log it
	eventConnect                   // request a connection
	eventWithdraw                  // withdraw the requests that have no answer yet
	eventClose                     // close conn because of err
)

// unlock releases p.mu and carries out the events that were added under it, in order. One
// goroutine at a time does that, also for events that others add while it does so.
func (p *peer) unlock() {
	if !p.events.Begin() {
		p.mu.Unlock()
		return
	}
	p.ni.peers.Tasks.Add(1) // allowed, because p is not shut down yet; Shutdown waits until all events are carried out
	defer p.ni.peers.Tasks.Done()
	p.events.Tell(&p.mu, p.tell)
}

func (p *peer) tell(e *event) {
	switch e.kind {
	case eventFailed:
		p.ni.endTxs(e.failed, e.err)
	case eventLate:
		p.ni.endTxs(e.failed, lnd.ErrLate)
	case eventUp:
		p.ni.up.PeerUp(lustre(p.id))
	case eventDown:
		p.ni.up.PeerDown(lustre(p.id), e.err)
	case eventNoted:
		if e.quiet && !e.err.Reason.Ordinary() {
			return
		}
		p.ni.counts.count(e.err.Reason)
		p.ni.logFailure(p.id, e.err)
	case eventConnect:
		p.connect(e.ask)
	case eventWithdraw:
		p.withdraw()
	case eventClose:
		e.conn.fail(e.err)
	}
}

// endTxs ends the messages of a list, which are linked through next, with an error.
func (ni *NI) endTxs(list *tx, err error) {
	for t := list; t != nil; {
		next := t.next
		t.next, t.err = nil, err
		ni.endTx(t)
		t = next
	}
}

// failPending makes all messages fail that wait for a connection. They are finalized by an
// event, after the lock has been released.
func (p *peer) failPending(err *Error) {
	if p.pending.len() == 0 {
		return
	}
	var all txQueue
	for t := p.pending.pop(); t != nil; t = p.pending.pop() {
		all.push(t)
	}
	p.events.Add(event{kind: eventFailed, failed: all.head, err: err})
}
