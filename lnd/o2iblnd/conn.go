package o2iblnd

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// connState is the state of a conn.
type connState uint8

const (
	connOpening connState = iota // requested by this side, or by the peer and accepted, and not established yet
	connOpen                     // established: messages go through the exchange
	connClosing                  // ended, but the device or lnet may still use it
	connGone
)

// conn is a connection (struct kib_conn): the shell of one exchange. It has ended when its
// last event has come, nothing is posted, and lnet has none of its messages.
//
// A goroutine steps the exchange under mu and then calls unlock, which carries out the
// effects of the steps without the lock. One goroutine at a time posts, so that work
// requests are posted in order, and it makes no upcall while it posts. The goroutine that made
// the steps also finalizes the messages that these have ended: the device has no work request
// of such a message, and will get none.
type conn struct {
	ni      *NI
	peer    *peer
	id      uint32
	dialled bool // this side requested the connection
	ask     ask  // parameters of the request, if this side sent it

	// These fields are set before the connection is established.
	peerStamp       uint64
	version         kib.Version
	depth, maxFrags int
	counting        kib.Counting // how the peer computes checksums

	mu        sync.Mutex // guards all fields below
	state     connState
	vc        verbs.Conn // the device's connection; does not change once set
	x         *exchange  // the exchange of messages; nil while opening
	now       time.Duration
	wakeAt    time.Duration
	out       *exchangeOut       // output of the steps since the last unlock; nil: none
	posting   bool               // a goroutine posts work requests
	ending    int                // number of goroutines that finalize messages of this connection
	waiting   []verbs.Completion // messages that have arrived and are not handled yet
	flushed   []uint32           // IDs of work requests that were flushed before the cause was known
	handling  bool               // a goroutine hands arrivals to lnet
	behind    int                // number of messages that the handling goroutine has taken but will handle after its present batch
	rxs       int                // number of messages that lnet has, or that are on their way to lnet or back
	spare     *rx                // receive structures for the next messages, linked by next
	spares    int                // number of receive structures in spare
	held      []*rx
	ended     bool // the device sends no more events of this connection
	told      bool // the peer's set of connections (peerSet) was told that this one is over
	abandoned bool // nothing uses the held deliveries any more
	closed    bool // vc is closed

	consumed atomic.Int32 // number of messages that lnet has consumed since the last step; the next step makes this side owe their credits
}

var outs = sync.Pool{New: func() any { return new(exchangeOut) }}

// newConn makes a connection to p; nil if the NI has ended.
func (ni *NI) newConn(p *peer, dialled bool) *conn {
	c := &conn{ni: ni, peer: p, dialled: dialled, version: kib.V2}
	if !ni.peers.Begin(func() { ni.conns.add(c) }) { // Shutdown either finds c in the table, or ends the NI before
		return nil
	}
	return c
}

// tick reads the clock for the steps that follow; the caller holds mu.
func (c *conn) tick() { c.now = c.ni.clock.Now() }

// step steps the exchange with the input in; the caller holds mu.
func (c *conn) step(in exchangeIn) {
	c.tick()
	c.stepAt(c.now, in)
}

// stepAt steps the exchange with the input in, at a time that the caller has read from the clock before;
// the caller holds mu. The messages that this step sends also give back the credits of messages that lnet
// has consumed since the last step.
func (c *conn) stepAt(now time.Duration, in exchangeIn) {
	if c.out == nil {
		c.out = outs.Get().(*exchangeOut)
	}
	in.consumed = int(c.consumed.Swap(0))
	c.wakeAt = c.x.Step(now, in, c.out)
	if c.x.failed != nil && c.state == connOpen {
		c.state = connClosing
	}
}

// unlock releases mu and carries out the effects of the steps.
func (c *conn) unlock() {
	for c.out != nil && !c.out.empty() {
		switch {
		case c.out.tells():
			c.tellEnded()
		case !c.posting:
			c.flush()
		default: // the goroutine that posts sends these messages, too
			c.mu.Unlock()
			return
		}
	}
	if c.out != nil {
		c.out.Reset()
		outs.Put(c.out)
		c.out = nil
	}
	over := c.over()
	if over {
		c.state = connGone
	}
	c.mu.Unlock()
	if over {
		c.free()
	}
}

// over reports whether neither the device nor lnet will use the connection again.
func (c *conn) over() bool {
	return c.state == connClosing && c.ended && c.told && c.rxs == 0 && !c.handling && !c.posting && c.ending == 0 && (c.x == nil || c.x.idle())
}

// free releases the resources of the connection.
func (c *conn) free() {
	if !c.closed { // no other goroutine uses c now, so no lock is needed
		c.vc.Close()
	}
	c.ni.conns.remove(c)
	c.ni.peers.Tasks.Done()
}

// abandon ends a connection that the device could not make. It returns false if the connection had
// ended before; then the peer's set of connections (peerSet) was told already.
func (c *conn) abandon() bool {
	c.mu.Lock()
	opening := c.state == connOpening
	c.state = connGone
	c.mu.Unlock()
	c.ni.conns.remove(c)
	c.ni.peers.Tasks.Done()
	return opening
}

// made notes the connection that the device made, unless an event has done so. The connection
// may have ended meanwhile.
func (c *conn) made(vc verbs.Conn) {
	c.mu.Lock()
	if c.vc == nil {
		c.vc = vc
	}
	givenUp := c.state == connClosing && !c.ended
	c.mu.Unlock()
	if givenUp {
		c.giveUp()
	}
}

// giveUp ends a connection that is not established, and whose end was reported to the peer's set of
// connections (peerSet).
func (c *conn) giveUp() {
	c.vc.Close()
	c.mu.Lock()
	c.ended, c.closed = true, true
	c.endFlushed()
	c.dropWaiting()
}

// receives reports whether messages that arrive go to lnet. All do while c is open. After the end of c,
// those that the device still has go to lnet as well if takesLate returns true. The caller holds mu.
func (c *conn) receives() bool {
	return c.state == connOpen || c.state == connClosing && c.x != nil && c.x.takesLate()
}

// dropWaiting returns the buffers of messages that will not be handled any more, and
// unlocks.
func (c *conn) dropWaiting() {
	list := c.waiting
	c.waiting = nil
	c.unlock()
	c.ni.giveBack(list)
}

// fail ends the connection because of cause. If it is called again, the first cause stays.
func (c *conn) fail(cause *Error) {
	if c.withdraw(cause) {
		return
	}
	c.mu.Lock()
	if c.state != connOpen {
		c.mu.Unlock()
		return
	}
	c.step(exchangeIn{kind: exchangeClose, err: cause})
	c.unlock()
}

// tellPeer reports to the peer's set of connections (peerSet) that c was not established.
func (c *conn) tellPeer(cause *Error) {
	c.tellSet(cause)
	c.mu.Lock()
	c.told = true
	c.unlock()
}

// down handles the failure of an established connection, once. The device has been told to end it.
func (c *conn) down(cause *Error) {
	c.abandonHeld(cause)
	c.mu.Lock()
	if c.receives() { // the goroutine that hands arrivals to lnet takes these, too
		c.unlock()
	} else {
		c.dropWaiting()
	}
	c.peer.closed(c, cause)
	c.mu.Lock()
	c.told = true
	c.unlock()
}

// scan moves the deadlines of c by the length of an absence, and handles those that have passed.
func (c *conn) scan(now, absent time.Duration) {
	c.mu.Lock()
	if c.state == connOpen && absent > 0 {
		c.step(exchangeIn{kind: exchangeAbsent, absent: absent})
	}
	if c.state == connOpen && now >= c.wakeAt {
		c.step(exchangeIn{kind: exchangeTimer})
	}
	if c.spares > 1 { // only batches need more than one rx, and they make new ones when they need them
		c.spare.next, c.spares = nil, 1
	}
	c.unlock()
}
