package engine

import (
	"syscall"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// How pings and pushes are repeated; local policy, since kernels send each of them once. A message may be lost with
// the connection that it was written to, and nothing tells its sender.
const (
	// repeatAfter is how long a ping or push may stay without an answer before it is sent again, unless Limits.Timeout
	// is short, see firstWait. Each further repetition waits twice as long as the one before.
	repeatAfter = 3 * time.Second
	// maxRepeats bounds how often a push that nothing waits for is sent again. After that, messages to the peer cause
	// further pushes, see untold.
	maxRepeats = 5
)

// exchange is a ping or a push with its repetitions; each message is a try. The machine takes answers to the first and
// to the latest try, and either answer ends the exchange. So a peer that always answers later than the next try is
// sent is heard all the same.
type exchange struct {
	peer          *peer
	first, latest try                         // the first and the latest try of those that may still be answered; if there is only one, it is latest, and first is the zero try
	due           machine.Deadline[*exchange] // time of the next try, or of the end
	began         time.Duration               // time at which the exchange began
	deadline      time.Duration               // time at which the exchange fails
	sentAt        time.Duration               // time of the latest try
	repeats       int                         // number of the tries after the first
	class         class
}

// try is one message of an exchange. The zero try is none.
type try struct {
	id    uint64 // ID of the message, which Send.Exchange has
	asked uint32 // value of peer.latest when the message was sent
}

// try returns the try with an ID.
func (x *exchange) try(id uint64) try {
	if x.first.id == id {
		return x.first
	}
	return x.latest
}

// open adds a try to the exchange with p and returns its ID.
func (m *Machine) open(now time.Duration, p *peer, out *Output) uint64 {
	x := p.exchange
	if x.first.id == 0 {
		x.first = x.latest
	} else {
		m.cancel(x.latest, out)
	}
	m.last++
	x.latest, x.sentAt = try{m.last, p.latest()}, now
	m.tries[m.last] = x
	m.due.Set(&x.due, min(x.deadline, now+waitFor(m.firstWait(p), x.repeats)))
	return m.last
}

// firstWait returns how long the first try waits for an answer before the next one. If something waits for the exchange, that
// is a quarter of Limits.Timeout at most, so that the exchange does not fail because one message is lost.
func (m *Machine) firstWait(p *peer) time.Duration {
	if len(p.waiting) == 0 {
		return repeatAfter
	}
	return min(repeatAfter, max(1, m.limits.Timeout/4))
}

// waitFor returns how long a try waits for an answer before the next one, if the first try waits for first.
func waitFor(first time.Duration, repeats int) time.Duration {
	return first << min(repeats, maxRepeats)
}

func (m *Machine) cancel(t try, out *Output) {
	if t.id != 0 {
		delete(m.tries, t.id)
		out.Cancelled = append(out.Cancelled, t.id)
	}
}

// end ends a peer's exchange and frees its slot. The parameter ended is the ID of the try that has ended; 0:
// none has. All other tries are cancelled.
func (m *Machine) end(p *peer, ended uint64, out *Output) {
	x := p.exchange
	for _, t := range []try{x.first, x.latest} {
		if t.id == ended {
			delete(m.tries, ended)
		} else {
			m.cancel(t, out)
		}
	}
	m.due.Clear(&x.due)
	m.inFlight[x.class]--
	p.exchange = nil
	p.flags &^= lnet.PeerPingSent | lnet.PeerPushSent
	m.changed(p)
}

// lose notes that a try has failed, and reports whether the exchange goes on. It goes on if another try is
// open, which may have gone to another NID of the peer or over a newer connection. If the peer has one NID
// only, the exchange ends when the latest try fails, or when LNet gives up the first one because no answer
// came in time.
func (m *Machine) lose(x *exchange, id uint64, err error) bool {
	only := len(x.peer.nis) == 1
	if x.first.id == 0 || only && (x.latest.id == id || err == syscall.ETIMEDOUT) {
		return false
	}
	if x.latest.id == id {
		x.latest = x.first
	}
	x.first = try{}
	delete(m.tries, id)
	return true
}

// fail ends the exchange with p because of err. ended is the ID of the try that has failed with
// err; 0: no try has failed.
func (m *Machine) fail(p *peer, err error, ended uint64, out *Output) {
	failed := lnet.PeerPingFailed
	if p.flags.Has(lnet.PeerPushSent) {
		failed = lnet.PeerPushFailed
	}
	m.end(p, ended, out)
	p.flags |= failed
	p.failure = err
}

// overdue repeats an exchange that has no answer yet, or ends it. An exchange that nothing waits for ends at
// once, so that a peer that does not answer occupies a slot for a short time only. If it is a push, its ACK
// still counts, in place of that of an earlier push, and the method named again may plan another push.
func (m *Machine) overdue(now time.Duration, x *exchange, out *Output) {
	p := x.peer
	if now < x.deadline && len(p.waiting) > 0 {
		m.stepAside(x)
		m.repeat(now, p, out)
		return
	}
	m.stats.Timeouts++
	kept := uint64(0)
	if now < x.deadline && p.flags.Has(lnet.PeerPushSent) {
		kept = x.latest.id
	}
	m.fail(p, syscall.ETIMEDOUT, kept, out)
	m.disregard(p, out)
	if kept != 0 {
		m.keep(p, x, kept)
	}
	m.advance(now, p, out)
}

// shorten applies a new Limits.Timeout to the exchanges under way, and to the pushes whose ACK still
// counts although their exchange has ended: from its beginning, none lasts longer than the new Timeout.
func (m *Machine) shorten(now time.Duration) {
	for _, p := range m.peers.inOrder() {
		if x := p.exchange; x != nil {
			x.deadline = min(x.deadline, max(now, m.deadline(x.began)))
			m.due.Set(&x.due, min(x.due.At(), x.deadline))
		}
		if u := p.unacked; u != nil {
			m.lapses.Set(&u.due, min(u.due.At(), max(now, m.deadline(u.began))))
		}
	}
}

// deadline returns the time at which an exchange fails that began at the given time.
func (m *Machine) deadline(began time.Duration) time.Duration {
	return began + min(m.limits.Timeout, machine.Never-began)
}

// repeat adds a try to the exchange under way: a ping in place of a push, if the peer has to be pinged by now.
func (m *Machine) repeat(now time.Duration, p *peer, out *Output) {
	x := p.exchange
	x.repeats++
	pings := p.flags&(lnet.PeerPingSent|lnet.PeerForcePing) != 0 || !p.flags.Has(lnet.PeerNIDsUpToDate)
	if pings && p.flags.Has(lnet.PeerPushSent) {
		m.cancel(x.first, out)
		m.cancel(x.latest, out)
		x.first, x.latest = try{}, try{}
		p.flags &^= lnet.PeerPushSent
		m.changed(p)
	}
	if pings {
		m.ping(now, p, out)
	} else {
		m.push(now, p, out)
	}
}

// restarted ends the exchange with a peer whose node has restarted, as the received info shows: the earlier
// incarnation will not answer. If the received info answers a ping, the restarted peer does not have this node's
// info, and gets another push. If the received info came by a push, the restarted peer has this node's info: a node
// pings another one, and so gets the other one's info, before it pushes its own.
func (m *Machine) restarted(p *peer, in Input, out *Output) {
	p.repeats = 0
	if in.Kind == Replied {
		p.acked, p.owed = 0, 0
	}
	m.disregard(p, out)
	if p.exchange != nil {
		m.end(p, 0, out)
	}
}

// again plans another push to p after the discovery of p has failed with err: the push failed, or the
// ping that had to come before it.
func (m *Machine) again(now time.Duration, p *peer, err error) {
	timedOut := err == syscall.ETIMEDOUT
	if timedOut && len(p.waiting) > 0 { // a message or call waits for p, so overdue has repeated the exchange until its deadline: the next message causes another push, see untold
		return
	}
	if p.retry != nil || !m.needsPush(p) {
		return
	}
	pause := waitFor(repeatAfter, int(p.repeats))
	if timedOut {
		pause -= min(repeatAfter, m.limits.Timeout) // the machine has already waited this long for the answer, so that the pause is shorter
	}
	p.retry = &machine.Deadline[*peer]{Of: p}
	m.retries.Set(p.retry, now+pause)
}

// pushAgain sends the pushes that are due to be repeated. A push that was repeated maxRepeats times is not sent by
// itself any more: from now on the next message to the peer causes it, see untold.
func (m *Machine) pushAgain(now time.Duration, out *Output) {
	for d := m.retries.Pop(now); d != nil; d = m.retries.Pop(now) {
		p := d.Of
		p.retry = nil
		if p.repeats >= maxRepeats {
			m.changed(p)
			continue
		}
		if p.repeats++; m.needsPush(p) {
			m.start(now, p, out)
		}
	}
}

// untold reports whether a peer lacks this node's latest info, and only a message to the peer makes the machine push it.
// The peer may have been cut off while the push was repeated. LNet is told that such a peer needs a forced push, so that it
// requests the discovery of the peer before the next message (lnet_peer_is_uptodate). As soon as the push is sent, the peer
// is up to date for messages, see shown. If there is no ACK either, the peer is untold again 96 s later.
func (m *Machine) untold(p *peer) bool {
	return p.exchange == nil && p.retry == nil && !p.queued && p.flags.UpToDate() && m.needsPush(p)
}

// forgo cancels the push that the method again has planned, and clears the count of repeated pushes.
func (m *Machine) forgo(p *peer) {
	p.repeats = 0
	if p.retry != nil {
		m.retries.Clear(p.retry)
		p.retry = nil
	}
}

// hasten makes the machine repeat a push under way within firstWait, because the info of this node has changed
// since.
func (m *Machine) hasten(now time.Duration, p *peer) {
	if x := p.exchange; x != nil && p.flags.Has(lnet.PeerPushSent) {
		x.repeats = 0
		m.due.Set(&x.due, min(x.due.At(), now+m.firstWait(p)))
	}
}

// nextNID returns the NID of p to which a repetition goes: the one that follows, in p's list, the NID to
// which the last message went. NIDs that this node does not reach, or that p reports as down, are skipped.
func (m *Machine) nextNID(p *peer) nid.NID {
	for i := range p.rails {
		r := &p.rails[(p.tried+1+i)%len(p.rails)]
		if r.state == confirmed && r.Status != wire.StatusDown && m.reaches(r.NID) {
			return r.NID
		}
	}
	return p.primary
}
