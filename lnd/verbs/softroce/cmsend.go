package softroce

import (
	"encoding/binary"
	"net/netip"
	"time"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// cmBody is the part of a CM message after the MAD.
type cmBody interface{ AppendTo(b []byte) []byte }

// build returns a message, which is valid until the next call.
func (c *cm) build(kind ibta.Attribute, tid uint64, body cmBody) []byte {
	c.building = body.AppendTo(ibta.MAD{TransactionID: tid, Attribute: kind}.AppendTo(c.building[:0]))
	return c.building
}

// send appends a packet with message b to the output.
func (o *cmOutput) send(to netip.Addr, class uint8, why wire.Doubt, b []byte) {
	from := len(o.bytes)
	o.bytes = append(o.bytes, b...)
	o.Sends = append(o.Sends, cmSend{To: to, TrafficClass: class, Doubt: why, from: from, to: len(o.bytes)})
}

// reply sends a message that gets no answer, to a peer whose address may be forged.
func (c *cm) reply(n *cmConn, kind ibta.Attribute, body cmBody, out *cmOutput) {
	out.send(n.peer, n.end.TrafficClass, wire.Claimed, c.build(kind, n.tid, body))
}

// ask sends a message and repeats it until the state changes or the retries are used up.
func (c *cm) ask(now time.Duration, n *cmConn, kind ibta.Attribute, body cmBody, out *cmOutput) {
	n.message, n.sent = append(n.message[:0], c.build(kind, n.tid, body)...), 1
	out.send(n.peer, n.end.TrafficClass, n.doubt(), n.message)
	c.again(now, n)
}

// maxREPs is how often this side sends its REP for one REQ, within three seconds. It is not sent
// more often because the REQ may have been forged. A real peer that has not received the REP
// repeats its REQ, and gets the REP again. Local policy.
const maxREPs = 6

// again sets the timer for the next repetition of the message, or for the end of the request.
func (c *cm) again(now time.Duration, n *cmConn) {
	at := max(n.giveUp, now+1)
	if n.state != repSent || n.sent < maxREPs {
		at = min(now+n.resendAfter(), at)
	}
	c.timers.Set(&n.timer, at)
}

// event appends an event for the consumer.
func (o *cmOutput) event(e cmEvent, private []byte) {
	e.from = len(o.bytes)
	o.bytes = append(o.bytes, private...)
	e.to = len(o.bytes)
	o.Events = append(o.Events, e)
}

// expire handles the end of n's timer.
func (c *cm) expire(now time.Duration, n *cmConn, out *cmOutput) {
	if n.state == reqSent && (now >= n.giveUp || n.sent > cmRetries) {
		c.prolong(n)
	}
	if n.message != nil && n.sent <= cmRetries && now < n.giveUp {
		n.sent++
		c.counters.Resent++
		out.send(n.peer, n.end.TrafficClass, n.doubt(), n.message)
		c.again(now, n)
		return
	}
	switch n.state {
	case repSent:
		c.counters.TimedOut++
		c.abandon(n, out)
	case reqSent:
		c.counters.TimedOut++
		out.event(cmEvent{Kind: cmUnreachable, ID: n.id}, nil)
		c.giveUp(n, out)
		c.forget(n)
	case reqReceived:
		c.counters.TimedOut++
		c.giveUp(n, out)
		c.forget(n)
	case dreqSent:
		c.counters.TimedOut++
		c.wait(now, n)
	default: // the time in state timeWait is over
		c.forget(n)
	}
}

// giveUp withdraws a request with a REJ. The REJ has this side's id and GUID, by which the peer
// finds the connection, because the peer's own id may not be known here.
func (c *cm) giveUp(n *cmConn, out *cmOutput) {
	r := ibta.REJ{LocalID: n.id, RemoteID: n.remote, Rejected: ibta.RejectedOther, Reason: ibta.RejectTimeout, InfoLength: 8}
	if n.state == reqReceived {
		r.Rejected = ibta.RejectedREQ
	}
	binary.BigEndian.PutUint64(r.Info[:], uint64(c.cfg.GUID))
	out.send(n.peer, n.end.TrafficClass, n.doubt(), c.build(ibta.AttrREJ, n.tid, &r))
}
