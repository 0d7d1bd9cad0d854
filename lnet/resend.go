package lnet

import (
	"sync"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// resender sends messages again whose try has failed, in the order of their failures and
// one at a time. It does so from a timer: a driver may fail a message from inside Send, and
// the next try must not begin on the same stack.
type resender struct {
	mu      sync.Mutex
	queue   lnd.Queue // messages to send again; guarded by mu, like all fields below
	started bool      // a timer is set, or sendWaiting is running
	running bool
	closed  bool
	rested  sync.Cond // signaled when running was set to false; uses mu
}

// maxAgain bounds the messages that wait for another try; local policy.
const maxAgain = 1 << 18

// sendLater queues m for another try; err is why the last try failed.
func (n *Node) sendLater(m *Message, err error) {
	r := &n.state.again
	r.mu.Lock()
	if r.closed || r.queue.Len() >= maxAgain {
		r.mu.Unlock()
		n.finish(m, err)
		return
	}
	if m.retries > 0 { // if retries is 0, the driver gave the message back, and its first try is still to come
		n.state.resends.tried.Add(1)
	}
	r.queue.Push(&m.Message)
	start := !r.started
	r.started = true
	r.mu.Unlock()
	if start {
		n.cfg.Clock.AfterFunc(0, n.sendWaiting)
	}
}

// sendWaiting sends the messages that wait for another try, by paths that are chosen anew.
func (n *Node) sendWaiting() {
	r := &n.state.again
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = true
	for m := r.queue.Pop(); m != nil; m = r.queue.Pop() {
		r.mu.Unlock()
		n.dispatch(owner(m))
		r.mu.Lock()
	}
	r.started, r.running = false, false
	r.rested.Broadcast()
}

// stopResending fails the messages that wait for another try, and all later ones at once.
func (n *Node) stopResending() {
	r := &n.state.again
	r.mu.Lock()
	r.closed = true
	left := r.queue.Take(func(*lnd.Message) bool { return true })
	for r.running {
		r.rested.Wait()
	}
	r.mu.Unlock()
	n.finishAll(left, syscall.ESHUTDOWN)
}

// setAside makes m, whose try has failed, ready for the next one. m will not wait for
// discovery again.
func (m *Message) setAside() {
	m.leaveHop()
	m.peer, m.ni, m.SentAt = nil, nil, 0
	m.Header.DestNID = m.dest
	m.waited, m.found = false, true
}

// late reports whether the deadline of m has passed. A message may have no deadline, because at
// first there was no choice of paths. Such a message gets one now, as if the driver had used
// all of its time.
func (m *Message) late(n *Node) bool {
	if m.Routed {
		return false // the node that sent the message gives it up by a deadline of its own
	}
	if m.expires == 0 {
		s := n.Health()
		m.expires = n.within(max(s.TransactionTimeout-s.LNDTimeout(), time.Second))
	}
	return n.cfg.Clock.Now() >= m.expires
}

// within returns the time after d, or machine.Never if that is beyond the range of the clock.
func (n *Node) within(d time.Duration) time.Duration {
	now := n.cfg.Clock.Now()
	return now + min(d, machine.Never-now)
}

func (m *Message) aborted() bool { return m.Aborted != nil && m.Aborted.Load() }

// countResent counts how a message ended that was sent more than once.
func (n *Node) countResent(m *Message, err error) {
	switch {
	case m.retries == 0:
	case err == nil:
		n.state.resends.successful.Add(1)
	default:
		n.state.resends.failed.Add(1)
	}
}
