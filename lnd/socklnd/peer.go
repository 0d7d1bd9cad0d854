package socklnd

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/internal/shell"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// peer is one remote process and its connections (struct ksock_peer_ni). It steps the connSet
// and carries out its effects.
type peer struct {
	ni *NI
	id nid.ProcessID

	mu       sync.Mutex
	set      connSet       // guarded by mu, like all fields below
	out      setOutput     // output of the last step of set
	conns    []*conn       // established connections with the peer
	routes   routes        // the choice of a connection for a message, made of conns
	sequence uint64        // counts how often connections were used
	pending  lnd.Queue     // messages that wait for a connection
	timer    machine.Timer // timer for the wake of set; nil: none
	wakeAt   time.Duration
	removed  bool // the peer is no longer in the NI's table
	events   shell.Events[event]

	latest  [2]atomic.Pointer[conn] // connections that took the latest small and the latest large inline message; nil: none; changed under mu
	silence silence                 // used only by the scan
}

func newPeer(ni *NI, id nid.ProcessID) *peer {
	p := &peer{ni: ni, id: id, wakeAt: machine.Never}
	p.set.cfg = setConfig{
		self: ni.nid, peer: id, versions: ni.versions(),
		untyped: ni.cfg.Untyped, dialOnly: ni.cfg.Accept == AcceptNone, connsPerPeer: ni.connsPerPeer(),
		minReconnect: ni.cfg.MinReconnect, maxReconnect: ni.cfg.MaxReconnect,
	}
	return p
}

// userFlagged reports whether the peer is named by its socket (LNET_PID_USERFLAG): it cannot be
// dialled, and its messages get that name as their source.
func (p *peer) userFlagged() bool { return p.id.PID&nid.UserPID != 0 }

// send routes m. It returns false if the peer is no longer in use.
func (p *peer) send(m *lnd.Message) bool {
	p.mu.Lock()
	if p.removed {
		p.mu.Unlock()
		return false
	}
	c := p.routes.forMessage(m, p.ni.cfg.MinBulk)
	if c == nil && !p.userFlagged() {
		p.mu.Unlock()
		p.ni.up.Waits(m) // called without locks, and before another goroutine can finalize m
		p.mu.Lock()
		if p.removed {
			p.mu.Unlock()
			return false
		}
		c = p.routes.forMessage(m, p.ni.cfg.MinBulk)
	}
	if c == nil || !p.set.complete() {
		p.connect(m, c != nil)
	}
	if c == nil {
		p.unlock()
		return true
	}
	p.use(c)
	flush := c.tx.push(m)
	p.unlock()
	if flush {
		c.tx.Flush()
	}
	return true
}

// use records that c carries a message: a later message may take the connection that was used the
// longest ago. The caller holds p.mu.
func (p *peer) use(c *conn) {
	if !p.ni.cfg.FirstIdle {
		p.sequence++
		c.usedAt = p.sequence
	}
}

// connect asks the set for missing connections. If no connection is usable yet, m waits for the first
// one or fails.
func (p *peer) connect(m *lnd.Message, usable bool) {
	if p.userFlagged() {
		if !usable {
			p.failMessage(m, p.report(newError(NoRoute, p.id, errUserFlagged)))
		}
		return
	}
	if !usable {
		p.pending.Push(m)
	}
	p.step(setInput{kind: setSend, usable: usable})
	if !usable && p.out.outcome == outcomeUnreachable {
		p.failPending(p.report(newError(TooSoon, p.id, p.out.err)))
	}
}

// step steps the set and carries out its effects. The caller holds p.mu.
func (p *peer) step(in setInput) {
	p.out.reset()
	now := p.ni.clock.Now()
	wake := p.set.Step(now, in, &p.out)
	p.arm(now, wake)
	if p.out.closeAll {
		p.report(p.out.err)
		p.closeAll(p.out.err)
	}
	if p.out.failPending {
		p.failPending(p.cause())
	}
	if p.out.down {
		p.events.Add(event{kind: eventDown, err: p.cause()})
	}
	if p.out.up {
		p.events.Add(event{kind: eventUp})
	}
	if p.out.dial {
		p.startDial(p.out.dialType, p.out.dialVersion)
	}
}

// cause returns the error of the last step.
func (p *peer) cause() error {
	if p.out.err == nil {
		return newError(TooSoon, p.id, nil)
	}
	return p.out.err
}

// arm sets the timer to the time wake, at which the connSet is to be stepped next.
func (p *peer) arm(now, wake time.Duration) {
	if wake == p.wakeAt {
		return
	}
	p.wakeAt = wake
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if wake != machine.Never {
		p.timer = p.ni.peers.After(wake-now, p.wake)
	}
}

// wake is called by the timer. A timer that was replaced by a new one may still call it, which does
// no harm.
func (p *peer) wake() {
	p.mu.Lock()
	if !p.removed {
		p.wakeAt = machine.Never
		p.step(setInput{kind: setTimer})
	}
	p.unlock()
}

// attach adds an established connection and starts its reader. When the reader ends, it releases
// the admission slot in the parameter held. The caller holds p.mu and has stepped the set.
func (p *peer) attach(c *conn, held *slot) {
	c.attached = true
	if c.ctype == ksock.Control || c.ctype == ksock.BulkIn { // on BULK_IN this side sends only acks, keepalives and priority messages
		p.ni.cfg.sockets().tuneControl(c.net)
	}
	if d := p.ni.patience.Now(); d != p.ni.cfg.SockTimeout {
		setUserTimeout(c.net, d)
	}
	p.conns = append(p.conns, c)
	p.routes = newRoutes(p.conns)
	now := p.ni.clock.Now()
	c.progress = progress{rxAt: now, txAt: now}
	p.silence.heardAt = now
	if carriesLNet(c.version, c.ctype) {
		// The first connection takes everything that waits, whatever its size
		// (socklnd ksocknal_create_conn).
		p.failLate(now)
		c.tx.pushAll(&p.pending)
	}
	p.ni.peers.Tasks.Go(func() {
		c.rx.run()
		held.release()
	})
}

// closeAll ends all connections. Messages that are still queued fail after unlock; a
// goroutine that is writing one finalizes it.
func (p *peer) closeAll(cause error) {
	for _, c := range p.conns {
		c.attached = false
		if q := c.close(cause); q.Len() > 0 {
			p.events.Add(event{kind: eventFailed, failed: q, err: cause})
		}
	}
	p.conns, p.routes = nil, routes{}
	for i := range p.latest {
		p.latest[i].Store(nil)
	}
}

// fail closes all connections of the peer because of what happened on c. Only
// the first failure counts; a connection that was closed before is ignored.
func (p *peer) fail(c *conn, cause error) {
	p.mu.Lock()
	if !c.attached {
		p.mu.Unlock()
		return
	}
	p.step(setInput{kind: setClosed, err: cause})
	p.unlock()
}
