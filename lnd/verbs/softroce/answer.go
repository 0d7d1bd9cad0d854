package softroce

import (
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// answered handles the ACK or NAK p.
func (c *rc) answered(now time.Duration, p *ibta.Packet, out *rcOutput) {
	r, s := &c.req, p.AETH.Syndrome
	last := p.PSN // last PSN that p acknowledges
	if !s.IsAck() {
		last = last.Add(-1)
	}
	// Ignore an answer that cannot be true. A NAK may name the oldest packet, an ACK acknowledges
	// at least that one, and no answer names a packet that was never sent.
	if d := last.Sub(r.unacked); d < -1 || d < 0 && s.IsAck() || last.Sub(r.high) >= 0 || !s.IsAck() && p.PSN == r.high {
		c.counters.Ghosts++
		return
	}
	progress := last.Sub(r.unacked) >= 0
	probed := r.probing && s.IsAck() && last == r.probed
	if progress {
		c.acknowledged(now, last, out)
	}
	switch {
	case probed && r.unacked != r.high:
		// The responder has the probed packet and none after it: the packets after it are lost.
		r.lost()
		c.goBack(r.unacked)
	case s.IsAck():
	case s.IsRNR():
		c.notReady(now, s, out)
	case s == ibta.NakSequence:
		c.missing(now, p.PSN, out)
	case s == ibta.NakInvalid:
		c.broken(verbs.RemoteInvalid, out)
	case s == ibta.NakAccess:
		c.broken(verbs.RemoteAccess, out)
	case s == ibta.NakOperation:
		c.broken(verbs.RemoteOperation, out)
	default:
		c.counters.Ghosts++
	}
}

// acknowledged completes what the peer has acknowledged: all packets up to last.
func (c *rc) acknowledged(now time.Duration, last ibta.PSN, out *rcOutput) {
	r := &c.req
	if r.timing && last.Sub(r.timed) >= 0 {
		r.timing = false
		r.sample(now - r.timedAt)
	}
	r.heard(now)
	r.grown(last.Sub(r.unacked) + 1)
	r.unacked = last.Add(1)
	if r.recovering && r.unacked.Sub(r.recover) >= 0 {
		r.recovering = false
	}
	for c.sends.len() > 0 {
		w := c.sends.work(0)
		if last.Sub(w.first.Add(w.packets-1)) < 0 {
			break
		}
		c.complete(c.sends.pop(), verbs.Success, out)
	}
	if r.next.Sub(r.unacked) < 0 { // packets that counted as lost had arrived: do not retransmit them
		r.next = r.unacked
		c.sends.seek(r.next)
	}
}

// missing handles a NAK that says that the responder misses the packet psn: it retransmits that packet
// and all later ones. It does so once: further NAKs for this packet were caused by packets that were
// in flight.
func (c *rc) missing(now time.Duration, psn ibta.PSN, out *rcOutput) {
	r := &c.req
	if r.nakPending && r.nakked == psn {
		return
	}
	c.counters.Naks++
	r.nakPending, r.nakked = true, psn
	r.silent(now)
	r.lost()
	c.goBack(psn)
}

// notReady handles an RNR NAK: it waits as long as the responder asks.
func (c *rc) notReady(now time.Duration, s ibta.Syndrome, out *rcOutput) {
	r := &c.req
	c.counters.RNRNaks++
	if r.rnrs++; r.rnrs > c.cfg.RNRRetryCount && c.cfg.RNRRetryCount < unlimitedRetry {
		c.broken(verbs.RNRRetryExceeded, out)
		return
	}
	r.waitingForRNR, r.rnrUntil = true, now+s.RNRDelay()
	c.goBack(r.unacked)
}
