package softroce

import (
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/machine"
)

// Local policy; the peer only sees its effect on the time of packets.
const (
	firstWindow    = 16 // initial window, in packets
	minWindow      = 2  // smallest window, in packets
	minAckEvery    = 16 // an ACK is requested by every n-th packet: n is a quarter of the window, but not less than this
	maxAckEvery    = 64 // and not more than this
	firstProbe     = 20 * time.Millisecond
	minProbe       = 500 * time.Microsecond
	probeTrips     = 3        // round trips of silence before a probe
	fewProbes      = 2        // with more unanswered probes in a row, the peer is probably gone
	maxGatherTrip  = minProbe // shortest round trip for which no packet waits for others
	unlimitedRetry = 7        // the retry count that means for ever (IBTA)

	// lapse is the silence after which packets in flight no longer count towards the allowance, as the
	// peer may be gone. It may also be stopped, and the packets may wait in its socket: see grant.
	lapse = 50 * time.Millisecond
)

// requester is the sending half of a connection: it sends packets and tracks which of
// them are acknowledged. Its PSNs are in this order:
//
//	unacked ≤ next ≤ high ≤ end of the queue
//
// Packets [unacked, next) are in flight. Packets [next, high) were sent before a loss and
// are to be retransmitted (go-back-N).
type requester struct {
	unacked, next, high ibta.PSN
	ackAsked            ibta.PSN // PSN of the last packet that requested an ACK
	sinceAckAsked       int      // number of packets sent after the packet ackAsked
	charged             int      // number of packets taken from the allowance
	lapsed              bool     // whether packets in flight do not count towards the allowance

	window, acked int // window in packets; packets acknowledged since the window last grew or was halved
	maxWindow     int
	recover       ibta.PSN // the window has already been halved for losses of packets before this PSN
	recovering    bool     // whether recover is valid

	srtt, rttvar time.Duration // smoothed round-trip time and its variation (RFC 6298)
	timed        ibta.PSN      // PSN of the packet whose round trip is measured
	timedAt      time.Duration
	timing       bool // whether timed is valid

	silentSince   time.Duration // start of the peer's silence: its last progress, or the first packet after idleness; see timedOut
	absences      extension     // by how much absences of this device move silentSince
	ackTimeout    time.Duration
	retries, rnrs int      // timeouts and RNR NAKs in a row
	probes        int      // probes in a row
	probed        ibta.PSN // PSN of the packet in the last probe
	probing       bool     // whether probed is valid
	nakked        ibta.PSN // PSN in the last NAK for a missing packet
	nakPending    bool
	rnrUntil      time.Duration
	waitingForRNR bool
}

func (r *requester) init(cfg rcConfig) {
	r.unacked, r.next, r.high = cfg.SendPSN, cfg.SendPSN, cfg.SendPSN
	r.ackAsked = cfg.SendPSN.Add(-1)
	r.maxWindow = max(1, cfg.MaxWindow)
	r.window = min(firstWindow, r.maxWindow)
	r.ackTimeout = cfg.AckTimeout
}

// probeAfter returns the silence after which the requester probes. It doubles with each
// probe (exponential back-off).
func (r *requester) probeAfter() time.Duration {
	d := firstProbe
	if r.srtt > 0 {
		d = max(probeTrips*r.srtt+4*r.rttvar, minProbe)
	}
	return d << min(r.probes, 16)
}

// wake returns the time at which the next timer is due, which is later than now.
func (r *requester) wake(now time.Duration, outstanding bool) time.Duration {
	if r.waitingForRNR {
		return r.rnrUntil
	}
	if !outstanding {
		return machine.Never
	}
	at := r.silentSince + r.probeAfter()
	if r.ackTimeout > 0 {
		at = min(at, r.silentSince+r.ackTimeout)
	}
	return max(at, now+1)
}

// heard restarts the measurement of silence and resets the counters of retries and probes, because the
// peer made progress.
func (r *requester) heard(now time.Duration) {
	r.silent(now)
	r.retries, r.rnrs, r.probes = 0, 0, 0
	r.probing, r.nakPending = false, false
}

// doubtful reports whether the peer may be gone: it has not answered more than fewProbes probes in a row, or
// nothing within an ACK timeout. A live peer has usually answered by then even if the network loses packets.
func (r *requester) doubtful() bool { return r.probes > fewProbes || r.retries > 0 }

// lost halves the window, once for all packets that were in flight.
func (r *requester) lost() {
	if r.recovering && r.unacked.Sub(r.recover) < 0 {
		return
	}
	r.recovering, r.recover = true, r.high
	r.window = max(minWindow, r.window/2)
	r.window, r.acked = min(r.window, r.maxWindow), 0
}

// grown lets the window grow by one packet for each window that is acknowledged. n is the number
// of packets that were acknowledged since the last call.
func (r *requester) grown(n int) {
	for r.acked += n; r.acked >= r.window && r.window < r.maxWindow; r.window++ {
		r.acked -= r.window
	}
	r.acked = min(r.acked, r.window)
}

// sample updates the smoothed RTT with the time of one round trip (RFC 6298 §2).
func (r *requester) sample(d time.Duration) {
	if r.srtt == 0 {
		r.srtt, r.rttvar = max(d, 1), d/2
		return
	}
	r.rttvar += ((r.srtt - d).Abs() - r.rttvar) / 4
	r.srtt = max(r.srtt+(d-r.srtt)/8, 1)
}

// expire handles the timers that are due: RNR, ACK timeout, probe.
func (c *rc) expire(now time.Duration, a away, out *rcOutput) {
	r := &c.req
	if r.waitingForRNR {
		if now < r.rnrUntil {
			return
		}
		r.waitingForRNR = false
		r.silent(now)
		c.goBack(r.unacked)
		return
	}
	if !c.outstanding() {
		return
	}
	if r.timedOut(now, a) {
		c.counters.Timeouts++
		if r.retries++; r.retries > c.cfg.RetryCount {
			c.broken(verbs.RetryExceeded, out)
			return
		}
		r.silent(now)
		r.probes, r.nakPending = 0, false
		r.lost()
		c.goBack(r.unacked)
		return
	}
	if now >= r.silentSince+r.probeAfter() {
		c.probe(out)
	}
}

// probe retransmits the oldest packet and requests an ACK for it. By Karn's algorithm, no RTT sample
// is taken from that ACK.
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

// goBack makes psn the next packet to send (go-back-N).
func (c *rc) goBack(psn ibta.PSN) {
	c.req.next, c.req.timing, c.req.probing = psn, false, false
	c.req.ackAsked = c.req.unacked.Add(-1) // the packet that requested an ACK may be lost
	c.sends.seek(psn)
}

// grant returns how many of the want packets may be sent now. The allowance bounds the packets that
// all queue pairs have in flight together. If the peer has been silent for 50 ms (lapse), the
// packets of this queue pair no longer count towards the allowance, and no more are sent until an
// ACK comes: the peer may be stopped and read nothing, so more packets of all queue pairs together
// would overrun its socket. In any case one packet may be sent if none in flight has requested an
// ACK; it then requests one.
func (c *rc) grant(inFlight, want int) int {
	r := &c.req
	n := 0
	if !r.lapsed {
		n = c.cfg.Allowance.take(inFlight, want)
	}
	if n == 0 && r.ackAsked.Sub(r.unacked) < 0 {
		n = c.cfg.Allowance.take(0, min(want, 1)) // this packet requests an ACK, which lets the queue pair go on
	}
	if r.charged += n; r.lapsed {
		c.charge(0)
	}
	return n
}

// charge makes n packets of this queue pair count towards the allowance.
func (c *rc) charge(n int) {
	c.cfg.Allowance.give(c.req.charged - n)
	c.req.charged = n
}

// transmit sends the packets that window and allowance permit.
func (c *rc) transmit(now time.Duration, out *rcOutput) {
	r := &c.req
	if c.failed != verbs.Success {
		return
	}
	inFlight := r.next.Sub(r.unacked)
	if r.lapsed = inFlight > 0 && now-r.silentSince >= lapse; r.lapsed {
		c.charge(0)
	} else {
		c.charge(inFlight)
	}
	if r.waitingForRNR {
		return
	}
	want := max(0, min(r.window-inFlight, c.sends.end.Sub(r.next)))
	n := c.grant(inFlight, want)
	if n > 0 && inFlight == 0 {
		r.silent(now)
	}
	for scarce := n < want; n > 0; n-- {
		again := r.next != r.high
		p := c.sends.take(r.next, out)
		c.address(p)
		r.next = r.next.Add(1)
		p.AckReq = c.wantACK(p.OpCode.IsLast(), n == 1, scarce)
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

// gathers reports whether packets that were posted wait for the next ACK, see sendQueue. They do
// not wait if an ACK takes long to come, or is late: it may be lost, and so may be the answers to
// probes.
func (c *rc) gathers() bool {
	r := &c.req
	return r.srtt > 0 && r.srtt < maxGatherTrip && r.probes+r.retries == 0 && c.sends.gathers()
}

// wantACK decides whether the packet before next requests an ACK. The last packet of a
// message does (rocev2 §6.3), and some of a long one. Few packets request one, because each ACK
// wakes both sides. But one ACK is always outstanding while packets are in flight, and it
// comes before the window is used up. The last packet that leaves now requests one if none
// before it has, or if the allowance is scarce, as the next packet may leave much later.
func (c *rc) wantACK(ends, last, scarce bool) bool {
	r := &c.req
	r.sinceAckAsked++
	every := min(max(r.window/4, minAckEvery), maxAckEvery)
	if !ends && r.sinceAckAsked < every && !(last && (scarce || r.ackAsked.Sub(r.unacked) < 0)) {
		return false
	}
	r.sinceAckAsked, r.ackAsked = 0, r.next.Add(-1)
	return true
}

// address fills in the fields that are the same in all packets.
func (c *rc) address(p *ibta.Packet) {
	p.Migrated, p.PKey, p.DestQP = true, ibta.DefaultPKey, c.cfg.DestQP
}

// broken fails the oldest work request with s, and with it the connection.
func (c *rc) broken(s verbs.Status, out *rcOutput) {
	if c.sends.len() > 0 {
		c.complete(c.sends.pop(), s, out)
	}
	c.fail(s, out)
}
