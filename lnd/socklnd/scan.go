package socklnd

import (
	"time"

	"ulnet/lnd/socklnd/ksock"
)

// The scan detects timeouts: it visits all peers periodically and compares byte counters, so
// that the message path reads no clock and sets no timer (socklnd
// ksocknal_check_peer_timeouts).

// scansPerTimeout is how many scans there are in the shorter of sock_timeout and keepalive; a
// timeout is noticed two scans late at most. The time for which the process did not run does not count, see lateness.
const (
	scansPerTimeout = 10
	minScanInterval = 10 * time.Millisecond
)

// progress is the state of a connection at the last scan.
type progress struct {
	rxBytes, txBytes uint64
	rxAt, txAt       time.Duration // when the connection last made progress or was idle
}

// silence is the state of a peer at the last scan.
type silence struct {
	rxBytes  uint64
	heardAt  time.Duration
	pingedAt time.Duration
}

func (ni *NI) scanInterval() time.Duration {
	d := ni.patience.Now()
	if ni.cfg.Keepalive > 0 {
		d = min(d, ni.cfg.Keepalive)
	}
	return max(d/scansPerTimeout, minScanInterval)
}

// lateness returns how late a scan is, if it is late by more than an interval: then the process was stopped, or could
// not run. What arrived meanwhile may wait in the sockets, unread. So timeouts are deferred by this time.
func (ni *NI) lateness(now time.Duration) time.Duration {
	if late := now - ni.peers.Due(); late > ni.scanInterval() {
		return late
	}
	return 0
}

// scan visits every peer once and removes the idle ones.
func (ni *NI) scan() {
	now := ni.clock.Now()
	late := ni.lateness(now)
	for _, p := range ni.peers.All() {
		p.scan(now, late)
	}
	ni.peers.Sweep(func(p *peer) bool { return p.remove(now) })
}

// remove marks p as removed if it has no state that would be lost. A peer with a failed dial stays
// for one more interval of its back-off after the next dial is allowed, see connSet.idle.
func (p *peer) remove(now time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = p.set.idle(now) && p.pending.Len() == 0 && p.events.Quiet()
	return p.removed
}

// scan closes the peer's connections if one of them is stuck, and sends a
// keepalive if the peer is silent. late is the time by which timeouts are deferred.
func (p *peer) scan(now, late time.Duration) {
	p.mu.Lock()
	for _, c := range p.conns {
		c.progress.deferBy(late, now)
		if why := c.stuck(now); why != ReasonNone {
			p.step(setInput{kind: setClosed, err: newError(why, p.id, nil)})
			p.unlock()
			return
		}
	}
	c := p.pingable(now)
	p.unlock()
	if c != nil {
		c.tx.Flush()
	}
}

// deferBy leaves a time out of account for which the process did not run.
func (p *progress) deferBy(d, now time.Duration) {
	p.rxAt, p.txAt = min(p.rxAt+d, now), min(p.txAt+d, now)
}

// stuck returns ReceiveTimeout or SendTimeout if a message that c receives or sends has made no progress for
// sock_timeout, else ReasonNone.
func (c *conn) stuck(now time.Duration) Reason {
	p := &c.progress
	if rx := c.rxBytes.Load(); rx != p.rxBytes || !c.midway.Load() {
		p.rxBytes, p.rxAt = rx, now
	}
	if tx := c.txBytes.Load(); tx != p.txBytes || !c.tx.busy() {
		p.txBytes, p.txAt = tx, now
	}
	limit := c.peer.ni.patience.Now()
	switch {
	case now-p.rxAt >= limit:
		return ReceiveTimeout
	case now-p.txAt >= limit:
		return SendTimeout
	}
	return ReasonNone
}

// busy reports whether messages or NOOPs wait for the socket. Those that wait for a handler of this node do not: the reader
// has corked the connection, or the goroutine that writes finalizes what has left.
func (w *writer) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writing && !w.corked && !w.ending
}

// minPingInterval is the least time between keepalives to a silent peer (socklnd
// ksocknal_send_keepalive_locked).
const minPingInterval = 10 * time.Second

// pingable queues a keepalive NOOP to a peer that has sent nothing for the keepalive interval,
// and returns the connection that the caller has to flush, or nil. Keepalives exist from version 3
// of the protocol on. The caller holds p.mu.
func (p *peer) pingable(now time.Duration) *conn {
	s := &p.silence
	if rx := p.received(); rx != s.rxBytes {
		s.rxBytes, s.heardAt = rx, now
	}
	interval := p.ni.cfg.Keepalive
	if interval < 0 || now-s.heardAt < interval || s.pingedAt > 0 && now-s.pingedAt < minPingInterval {
		return nil
	}
	c := leastBusy(p.routes.acks)
	if c == nil || c.version < ksock.V3 || c.tx.busy() {
		return nil
	}
	s.pingedAt = now
	if flush, _ := c.tx.pushNoop(ksock.Keepalive); flush {
		return c
	}
	return nil
}

// received is the sum of bytes that the peer's connections have received.
func (p *peer) received() (n uint64) {
	for _, c := range p.conns {
		n += c.rxBytes.Load()
	}
	return n
}
