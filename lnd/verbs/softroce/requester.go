package softroce

import (
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/machine"
)

// Local policy, of which the peer sees no more than when packets come.
const (
	firstWindow  = 16 // packets
	leastWindow  = 2
	leastAsk     = 16 // packets between two that ask for an ACK: a quarter of the window,
	mostAsk      = 64 // within these bounds
	firstProbe   = 20 * time.Millisecond
	leastProbe   = 500 * time.Microsecond
	probeTrips   = 3 // round trips of silence before a probe
	endlessRetry = 7
)

// requester sends packets and keeps count of what is acknowledged. PSNs:
//
//	unacked ≤ next ≤ high ≤ end of the queue
//
// where [unacked, next) is on the way, and [next, high) was sent before a loss
// and is to be sent again.
type requester struct {
	unacked, next, high ibta.PSN
	asked               ibta.PSN // the last packet that asked for an ACK
	sinceAsk            int      // packets since then
	charged             int      // packets of the allowance

	window, acked int // packets; acked of the present window
	maxWindow     int
	recover       ibta.PSN // losses before it have had their effect on the window
	recovering    bool

	srtt, rttvar time.Duration
	timed        ibta.PSN // a packet whose answer is timed
	timedAt      time.Duration
	timing       bool

	quietSince    time.Duration // since when nothing was heard that made a difference
	ackTimeout    time.Duration
	retries, rnrs int // in a row
	probes        int // in a row
	probed        ibta.PSN
	probing       bool
	nakked        ibta.PSN // the last NAK for a missing packet
	nakPending    bool
	rnrUntil      time.Duration
	waitingForRNR bool
}

func (r *requester) init(cfg rcConfig) {
	r.unacked, r.next, r.high = cfg.SendPSN, cfg.SendPSN, cfg.SendPSN
	r.asked = cfg.SendPSN.Add(-1)
	r.maxWindow = max(1, cfg.MaxWindow)
	r.window = min(firstWindow, r.maxWindow)
	r.ackTimeout = cfg.AckTimeout
}

// probeAfter returns the silence after which a probe is sent; each further one
// waits twice as long.
func (r *requester) probeAfter() time.Duration {
	d := firstProbe
	if r.srtt > 0 {
		d = max(probeTrips*r.srtt+4*r.rttvar, leastProbe)
	}
	return d << min(r.probes, 16)
}

// wake returns when something is due, later than now.
func (r *requester) wake(now time.Duration, outstanding bool) time.Duration {
	if r.waitingForRNR {
		return r.rnrUntil
	}
	if !outstanding {
		return machine.Never
	}
	at := r.quietSince + r.probeAfter()
	if r.ackTimeout > 0 {
		at = min(at, r.quietSince+r.ackTimeout)
	}
	return max(at, now+1)
}

// heard notes progress.
func (r *requester) heard(now time.Duration) {
	r.quietSince, r.retries, r.rnrs, r.probes = now, 0, 0, 0
	r.probing, r.nakPending = false, false
}

// lost halves the window, once for all that was on the way.
func (r *requester) lost() {
	if r.recovering && r.unacked.Sub(r.recover) < 0 {
		return
	}
	r.recovering, r.recover = true, r.high
	r.window = max(leastWindow, r.window/2)
	r.window, r.acked = min(r.window, r.maxWindow), 0
}

// grown notes that n packets were acknowledged.
func (r *requester) grown(n int) {
	for r.acked += n; r.acked >= r.window && r.window < r.maxWindow; r.window++ {
		r.acked -= r.window
	}
	r.acked = min(r.acked, r.window)
}

// sample takes the time of a round trip (RFC 6298's smoothing).
func (r *requester) sample(d time.Duration) {
	if r.srtt == 0 {
		r.srtt, r.rttvar = max(d, 1), d/2
		return
	}
	r.rttvar += ((r.srtt - d).Abs() - r.rttvar) / 4
	r.srtt = max(r.srtt+(d-r.srtt)/8, 1)
}

// expire does what is due.
func (c *rc) expire(now time.Duration, out *rcOutput) {
	r := &c.req
	if r.waitingForRNR {
		if now < r.rnrUntil {
			return
		}
		r.waitingForRNR, r.quietSince = false, now
		c.back(r.unacked)
		return
	}
	if !c.outstanding() {
		return
	}
	if r.ackTimeout > 0 && now >= r.quietSince+r.ackTimeout {
		c.counters.Timeouts++
		if r.retries++; r.retries > c.cfg.RetryCount {
			c.broken(verbs.RetryExceeded, out)
			return
		}
		r.quietSince, r.probes, r.nakPending = now, 0, false
		r.lost()
		c.back(r.unacked)
		return
	}
	if now >= r.quietSince+r.probeAfter() {
		c.probe(out)
	}
}

// probe sends the oldest packet again.
func (c *rc) probe(out *rcOutput) {
	r := &c.req
	c.counters.Probes++
	r.probes++
	r.probing, r.probed, r.timing = true, r.unacked, false
	c.sends.seek(r.unacked)
	p := c.sends.take(r.unacked, out)
	c.address(p)
	p.AckReq = true
	c.sends.seek(r.next)
}

// back begins to send again from psn on.
func (c *rc) back(psn ibta.PSN) {
	c.req.next, c.req.timing, c.req.probing = psn, false, false
	c.req.asked = c.req.unacked.Add(-1) // who was asked has perhaps heard nothing
	c.sends.seek(psn)
}

// settle gives back what is not on the way any more.
func (c *rc) settle(onWay int) {
	c.cfg.Allowance.give(c.req.charged - onWay)
	c.req.charged = onWay
}

// transmit sends what the window and the allowance let it.
func (c *rc) transmit(now time.Duration, out *rcOutput) {
	r := &c.req
	if c.failed != verbs.Success {
		return
	}
	onWay := r.next.Sub(r.unacked)
	c.settle(onWay)
	if r.waitingForRNR {
		return
	}
	want := max(0, min(r.window-onWay, c.sends.end.Sub(r.next)))
	n := c.cfg.Allowance.take(onWay, want)
	if n == 0 && r.asked.Sub(r.unacked) < 0 {
		n = c.cfg.Allowance.take(0, min(want, 1)) // who asks; else nothing comes
	}
	if n > 0 && onWay == 0 {
		r.quietSince = now
	}
	for scarce := n < want; n > 0; n-- {
		again := r.next != r.high
		p := c.sends.take(r.next, out)
		c.address(p)
		r.next = r.next.Add(1)
		r.charged++
		p.AckReq = c.ask(p.OpCode.IsLast(), n == 1, scarce)
		if again {
			c.counters.Resent++
			continue
		}
		r.high = r.next
		if p.AckReq && !r.timing {
			r.timing, r.timed, r.timedAt = true, p.PSN, now
		}
	}
}

// ask decides whether the packet before next asks for an ACK: the last of a message does
// (rocev2 §6.3), and some of long ones. Each ACK wakes both sides, and so there are
// few; but one is always to come while something is on the way, and soon enough that
// the window does not run dry before. The last packet that leaves now asks if none
// before it has asked, or if room is scarce: then nobody knows when the next one leaves.
func (c *rc) ask(ends, last, scarce bool) bool {
	r := &c.req
	r.sinceAsk++
	every := min(max(r.window/4, leastAsk), mostAsk)
	if !ends && r.sinceAsk < every && !(last && (scarce || r.asked.Sub(r.unacked) < 0)) {
		return false
	}
	r.sinceAsk, r.asked = 0, r.next.Add(-1)
	return true
}

// address fills in what all packets have in common.
func (c *rc) address(p *ibta.Packet) {
	p.Migrated, p.PKey, p.DestQP = true, ibta.DefaultPKey, c.cfg.DestQP
}

// broken ends the connection because of the oldest work request.
func (c *rc) broken(s verbs.Status, out *rcOutput) {
	if c.sends.len() > 0 {
		c.complete(c.sends.pop(), s, out)
	}
	c.fail(s, out)
}
