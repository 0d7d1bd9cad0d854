package o2iblnd

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd/internal/shell"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// peer is one remote NID and its connections (struct kib_peer_ni). It steps the peerSet and
// carries out its effects.
type peer struct {
	ni   *NI
	id   nid.NID
	gets atomic.Int64 // number of GET_REQs of the peer whose GET_DONEs have not ended
	kept atomic.Int64 // number of held messages of the peer whose payloads are copied and whose credits are given back; at most maxKept for each connection that this side would make
	gone atomic.Bool  // the peer is no longer in the NI's table; set under mu

	mu      sync.Mutex
	set     peerSet       // guarded by mu, like all fields below
	out     peerOut       // output of the last step of set
	conns   []*conn       // established connections with the peer
	turn    int           // counts messages, so that conns are used in turn
	pending classQueue    // messages that wait for a connection, each with its deadline
	timerAt time.Duration // time of the next step of set; machine.Never: none
	events  shell.Events[event]
}

func newPeer(ni *NI, id nid.NID) *peer {
	return &peer{
		ni: ni, id: id, timerAt: machine.Never,
		set: newPeerSet(peerSetConfig{self: ni.nid, peer: id, stamp: ni.stamp, depth: ni.depth, connsPerPeer: ni.cfg.ConnsPerPeer, fixedMTU: ni.attr.FixedMTU}),
	}
}

// send gives t to a connection, or queues it for the first one. It returns false if the peer
// was removed.
func (p *peer) send(t *tx) bool {
	p.mu.Lock()
	if p.give(t) {
		return true
	}
	if !p.gone.Load() && !t.waited {
		p.mu.Unlock()
		p.ni.waits(t) // called without locks, and before t is queued, where another goroutine could finalize it
		p.mu.Lock()
		if p.give(t) {
			return true
		}
	}
	if p.gone.Load() {
		p.mu.Unlock()
		return false
	}
	t.deadline, t.postponed = p.ni.clock.Now()+p.ni.queueTimeout(), 0
	p.pending.push(t)
	p.step(peerIn{kind: peerSend})
	p.unlock()
	return true
}

// give gives t to the next open connection, in turn, and then unlocks p.mu. If there is none it
// returns false with p.mu locked.
func (p *peer) give(t *tx) bool {
	if p.gone.Load() {
		return false
	}
	for range p.conns {
		c := p.conns[p.turn%len(p.conns)]
		p.turn++
		c.mu.Lock()
		if c.state != connOpen {
			c.mu.Unlock()
			continue
		}
		p.mu.Unlock()
		c.step(exchangeIn{kind: exchangeSend, tx: t})
		c.unlock()
		return true
	}
	return false
}

// answer sends the REPLY of t as the answer to the GET_REQ that asked for it. Then the connection
// owns the message of t and its memory. If no GET_REQ asked for it, answer returns false.
func (p *peer) answer(t *tx) bool {
	p.mu.Lock()
	conns := p.conns
	p.mu.Unlock()
	for _, c := range conns {
		if c.answer(t) {
			return true
		}
	}
	return false
}

func (c *conn) answer(t *tx) bool {
	h := &t.msg.Header
	c.mu.Lock()
	if c.state != connOpen {
		c.mu.Unlock()
		return false
	}
	g := c.x.getFor(h.DestNID, h.Reply().DstMD)
	if g == nil {
		c.mu.Unlock()
		return false
	}
	g.msg, g.mr = t.msg, t.mr
	g.pieces, t.pieces = t.pieces, g.pieces
	c.step(exchangeIn{kind: exchangeReply, tx: g})
	c.unlock()
	return true
}

// step steps the set and carries out its effects, or adds them as events for unlock. The caller
// holds p.mu.
func (p *peer) step(in peerIn) {
	p.out = peerOut{}
	in.queued = p.pending.len() > 0
	now := p.ni.clock.Now()
	quiet := p.quiet()
	p.wake(now, p.set.Step(now, in, &p.out))
	if p.out.reason != ReasonNone {
		p.events.Add(event{kind: eventNoted, err: newError(p.out.reason, lustre(p.id), nil), quiet: quiet})
	}
	if p.out.withdraw {
		p.events.Add(event{kind: eventWithdraw})
	}
	if p.out.closeStale {
		p.closeStale()
	}
	if p.out.failPending {
		p.failPending(p.out.err)
	}
	if p.out.down {
		p.events.Add(event{kind: eventDown, err: p.out.err})
	}
	if p.out.up {
		p.events.Add(event{kind: eventUp})
	}
	for range p.out.connect {
		p.events.Add(event{kind: eventConnect, ask: p.set.ask()})
	}
}

// quiet reports whether a failure to connect has no consequence: the connection was
// requested because of packets that any host can forge, and no message waits. A request of
// this kind that finds no node is neither counted as a failure nor logged.
func (p *peer) quiet() bool { return p.set.redial && p.pending.len() == 0 }

// note counts and logs a failure to connect, after unlock.
func (p *peer) note(e *Error) {
	p.events.Add(event{kind: eventNoted, err: e, quiet: p.quiet()})
}

// closeStale ends connections to other incarnations of the peer, after unlock.
func (p *peer) closeStale() {
	for _, c := range p.conns {
		if c.peerStamp != p.set.stamp || c.version != p.set.version {
			p.events.Add(event{kind: eventClose, conn: c, err: newError(PeerRestarted, lustre(p.id), nil)})
		}
	}
}

// attach adds an established connection, and gives it the waiting messages that are not late. The
// caller holds p.mu and c.mu.
func (p *peer) attach(c *conn) {
	p.conns = append(p.conns[:len(p.conns):len(p.conns)], c)
	var late txQueue
	now := p.ni.clock.Now()
	for t := p.pending.pop(); t != nil; t = p.pending.pop() {
		if t.msg.Late(now) {
			late.push(t)
		} else {
			c.step(exchangeIn{kind: exchangeSend, tx: t})
		}
	}
	if late.n > 0 {
		p.events.Add(event{kind: eventLate, failed: late.head})
	}
}

// closed removes an established connection that has ended.
func (p *peer) closed(c *conn, cause *Error) {
	p.mu.Lock()
	p.conns = slices.DeleteFunc(slices.Clone(p.conns), func(other *conn) bool { return other == c })
	p.events.Add(event{kind: eventNoted, err: cause})
	p.step(peerIn{kind: peerClosed, err: cause})
	if p.gone.Load() { // the NI shuts down
		p.failPending(cause)
	}
	p.unlock()
}

// fail ends all connections because of cause: lnet refuses a header of the peer.
func (p *peer) fail(cause *Error) { p.failOf(0, cause) }

// failOf ends the connections to an incarnation of the peer because of cause; 0: to any.
func (p *peer) failOf(incarnation uint64, cause *Error) {
	p.mu.Lock()
	conns := p.conns
	p.mu.Unlock()
	for _, c := range conns {
		if incarnation == 0 || c.peerStamp == incarnation {
			c.fail(cause)
		}
	}
}

// shutdown ends everything of the peer except its connections.
func (p *peer) shutdown() {
	p.mu.Lock()
	p.gone.Store(true)
	p.failPending(newError(ShuttingDown, lustre(p.id), nil))
	p.unlock()
}

// scan moves the deadlines of the messages that wait for a connection by the length of an absence, and fails those that have
// waited too long.
func (p *peer) scan(now, absent time.Duration) {
	p.mu.Lock()
	var late txQueue
	for _, q := range []*txQueue{&p.pending.priority, &p.pending.normal} {
		if absent > 0 {
			q.postpone(absent, now+p.ni.queueTimeout())
		}
		for q.due(now) {
			late.push(q.pop())
		}
	}
	if late.n > 0 {
		e := newError(QueueTimeout, lustre(p.id), nil)
		p.events.Add(event{kind: eventNoted, err: e})
		p.events.Add(event{kind: eventFailed, failed: late.head, err: e})
	}
	p.unlock()
}

// remove marks p as gone if p has no connection and expects none, and no message or event of p waits. It
// reports whether p is gone, now or before; the caller then deletes p from the NI's table.
func (p *peer) remove() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.set.idle() && len(p.conns) == 0 && p.pending.len() == 0 && p.events.Quiet() {
		p.gone.Store(true)
	}
	return p.gone.Load()
}

// request decides about a request of the peer, whose private data is m, and answers it. It
// returns false if the peer is no longer in use.
func (p *peer) request(r verbs.Request, m *kib.Msg) bool {
	why, _, ok := p.admit(m.SrcStamp, m.Version)
	switch {
	case !ok:
		return false
	case why != 0:
		p.ni.reject(r, why)
	default:
		p.ni.accept(r, p, m)
	}
	return true
}

// admit steps the set with a request of the peer: why is 0 if it is accepted. It returns
// false if the peer is no longer in use.
func (p *peer) admit(stamp uint64, version kib.Version) (why kib.Why, reason Reason, ok bool) {
	p.mu.Lock()
	if p.gone.Load() {
		p.mu.Unlock()
		return 0, ReasonNone, false
	}
	p.step(peerIn{kind: peerRequest, stamp: stamp, version: version})
	why, reason = p.out.why, p.out.reason
	p.unlock()
	return why, reason, true
}
