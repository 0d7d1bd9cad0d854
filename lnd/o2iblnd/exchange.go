package o2iblnd

import (
	"fmt"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// exchange is the protocol of an established connection: credits, messages, transfers and
// their timeouts (o2iblnd-wire §8 to §10). It is a machine in the sense of lnet/machine whose
// output is posted to a queue pair; the conn steps it under its lock.
//
// Messages to be sent wait in these queues:
//
//	uncredited  PUT_ACK, PUT_NAK, PUT_DONE, GET_DONE
//	starved     PUT_REQ, GET_REQ: for reserved credits, which answers give back
//	credited    IMMEDIATE, PUT_REQ, GET_REQ: for credits
//	writing     transfers whose WRITEs are being posted
//
// Priority messages pass others in each of the last three queues. For them the last credit is kept, and one reserved
// credit beyond the queue depth. A depth below 4 keeps neither, because the peer then gives credits back one by one.
type exchange struct {
	cfg exchangeConfig

	credits     int // number of messages for which this side has a credit
	owed        int // number of credits to give back to the peer
	reserved    int // number of PUT_REQs and GET_REQs that this side may still send: each has a free buffer for its answer; -1: the reserved credit for priority messages is in use, too
	peerCredits int // number of messages that the peer may send with the credits that this side gave it

	sends int // SENDs that are posted and not completed
	noops int // NOOPs among these SENDs
	turns int // turns of WRITEs that are posted and not completed

	accepted int // number of PUT_REQs of the peer that were accepted and whose PUT_DONE has not come

	// answering counts answers to GET_REQs that are under way: GET_DONEs and the WRITEs before them. lnet
	// gives REPLYs to the exchange without credits, so the credits of the GET_REQs bound them: if answering
	// exceeds the queue depth by n, n credits are held back from the peer.
	answering int
	answerBy  time.Duration // until when owed credits wait for the answer to the next GET_REQ; 0: they do not wait

	uncredited txQueue
	starved    classQueue
	credited   classQueue
	writing    classQueue
	gets       txQueue // GET_REQs of the peer that lnet has not answered
	first      *tx     // the tx with the earliest deadline
	last       *tx

	slots  []*tx
	free   []uint32
	active int // number of slots in use

	cookie uint64        // cookie of the next transfer
	sentAt time.Duration // time of the last work request that was posted
	desc   []byte        // memory in which descriptors are made
	frags  []kib.Frag    // memory in which fragments are made
	failed *Error        // why the exchange ended; nil while it goes on

	counts exchangeCounts
}

var _ machine.Machine[exchangeIn, exchangeOut] = (*exchange)(nil)

// exchangeConfig has the parameters that the two sides have agreed upon.
type exchangeConfig struct {
	local, peer      nid.NID
	stamp, peerStamp uint64
	version          kib.Version
	depth            int // queue depth: number of credits of each side
	maxFrags         int // most RDMA WRITEs of one transfer
	highWater        int // when this many credits are owed, a NOOP returns them
	concurrent       int // most SENDs that may be posted at a time
	gather           int // most pieces of memory in one RDMA WRITE
	sendGather       int // most pieces of memory in one SEND, with its header
	timeout          time.Duration
	keepalive        time.Duration // time between keepalive NOOPs; negative: none are sent
	checksum         bool          // add checksums once it is known how the peer computes them
	counting         kib.Counting  // how the peer computes checksums, if known
	firstCookie      uint64
}

// exchangeCounts are the counters that a snapshot shows.
type exchangeCounts struct{ sent, received, bytesOut, bytesIn uint64 }

// Bounds of the WRITEs that are posted at a time (local policy). A priority message waits for
// at most turnsAhead turns, which takes 0.6 ms at 10 Gbit/s. The bytes of these turns keep the
// link busy for a round trip. Each turn begins with a packet that softroce cannot send in a
// burst with others, so turns are long: with turns of 64 KiB a MiB takes 1.7 times as long.
const (
	turnBytes  = 344 << 10 // about a third of a MiB, in whole packets of 4 KiB
	turnWRs    = 16
	turnsAhead = 2
	maxNoops   = 2 // IBLND_OOB_MSGS
)

// maxPosted is how many work requests an exchange has posted at most.
func (c *exchangeConfig) maxPosted() int { return c.concurrent + turnsAhead*turnWRs }

func newExchange(cfg exchangeConfig, now time.Duration) *exchange {
	return &exchange{
		cfg: cfg, cookie: cfg.firstCookie, sentAt: now,
		credits: cfg.depth, reserved: cfg.depth, peerCredits: cfg.depth,
	}
}

// Step implements machine.Machine. It sets arrival and refused in out for this step alone, and
// appends everything else to out.
func (x *exchange) Step(now time.Duration, in exchangeIn, out *exchangeOut) time.Duration {
	out.arrival, out.refused = arrivalNone, false
	if x.failed != nil && in.kind != exchangeSent {
		if out.refused = true; in.kind == exchangeArrived {
			x.arrivedLate(in.bytes, out)
		}
		return x.wake()
	}
	x.consume(now, in.consumed)
	switch in.kind {
	case exchangeTimer:
		x.expire(now, out)
	case exchangeSend:
		x.send(now, in.tx)
	case exchangeArrived:
		x.arrived(now, in.bytes, out)
	case exchangeConsumed:
	case exchangeSink:
		x.acceptPut(now, in.tx)
	case exchangeNak:
		x.refusePut(now, in.tx)
	case exchangeAwaitReply:
		x.awaitReply(now, in.tx)
	case exchangeReply:
		x.reply(now, in.tx, out)
	case exchangeSent:
		x.sent(in.id, in.err, out)
	case exchangeClose:
		x.close(in.err, out)
	case exchangePatience:
		x.setTimeout(in.timeout)
	case exchangeAbsent:
		x.postpone(now, in.absent)
	}
	x.flush(now, out)
	return x.wake()
}

// wake returns the earliest of these times: the deadlines, and when the connection has been silent too long.
func (x *exchange) wake() time.Duration {
	at := machine.Never
	if x.failed != nil {
		return at
	}
	if x.first != nil {
		at = x.first.deadline
	}
	if x.cfg.keepalive > 0 {
		at = min(at, x.sentAt+x.cfg.keepalive)
	}
	if x.answerBy > 0 {
		at = min(at, x.answerBy)
	}
	return at
}

// idle reports whether nothing is under way and nothing is posted. An idle exchange that has failed
// can be forgotten.
func (x *exchange) idle() bool { return x.active == 0 && x.sends == 0 && x.turns == 0 }

// begin takes a free slot for t.
func (x *exchange) begin(t *tx) {
	if n := len(x.free); n > 0 {
		t.slot, x.free = x.free[n-1], x.free[:n-1]
		x.slots[t.slot] = t
	} else {
		t.slot = uint32(len(x.slots))
		x.slots = append(x.slots, t)
	}
	x.active++
}

// list appends t to the list of deadlines, which is sorted because all timeouts are equal.
func (x *exchange) list(now time.Duration, t *tx) {
	x.unlist(t)
	t.deadline, t.postponed, t.listed = now+x.cfg.timeout, 0, true
	t.before = x.last
	if x.last == nil {
		x.first = t
	} else {
		x.last.after = t
	}
	x.last = t
}

// setTimeout changes the time-out. All deadlines move by the same duration, so that the list stays
// sorted.
func (x *exchange) setTimeout(d time.Duration) {
	for t := x.first; t != nil; t = t.after {
		t.deadline += d - x.cfg.timeout
	}
	x.cfg.timeout = d
}

func (x *exchange) unlist(t *tx) {
	if !t.listed {
		return
	}
	if t.before == nil {
		x.first = t.after
	} else {
		t.before.after = t.after
	}
	if t.after == nil {
		x.last = t.before
	} else {
		t.after.before = t.before
	}
	t.before, t.after, t.listed = nil, nil, false
}

// finish ends t if nothing of it is left to do.
func (x *exchange) finish(t *tx, out *exchangeOut) {
	if t.phase != phaseLast || t.posted > 0 {
		return
	}
	x.unlist(t)
	x.slots[t.slot] = nil
	x.free = append(x.free, t.slot)
	x.active--
	if t.answers {
		x.answered()
	}
	out.Done.push(t)
}

// invariants returns an error that names an invariant which does not hold, or nil. It is for tests.
func (x *exchange) invariants() error {
	d := x.cfg.depth
	switch {
	case x.credits < 0 || x.credits > d:
		return fmt.Errorf("%d credits of %d", x.credits, d)
	case x.reserved < -x.kept() || x.reserved > d:
		return fmt.Errorf("%d reserved credits of %d", x.reserved, d)
	case x.peerCredits < 0 || x.peerCredits+x.owed > d:
		return fmt.Errorf("the peer has %d credits and is owed %d of %d", x.peerCredits, x.owed, d)
	case x.accepted < 0 || x.peerCredits+x.owed+x.accepted > d:
		return fmt.Errorf("%d PUTs accepted, with %d credits at the peer and %d owed of %d", x.accepted, x.peerCredits, x.owed, d)
	case x.sends < 0 || x.sends > x.cfg.concurrent:
		return fmt.Errorf("%d SENDs posted of %d", x.sends, x.cfg.concurrent)
	case x.noops < 0 || x.noops > maxNoops || x.turns < 0 || x.turns > turnsAhead:
		return fmt.Errorf("%d NOOPs and %d turns posted", x.noops, x.turns)
	case x.answering < 0 || x.answering+x.peerCredits+x.owed > 2*d:
		return fmt.Errorf("%d answers under way, with %d credits at the peer and %d owed of %d", x.answering, x.peerCredits, x.owed, d)
	}
	n := 0
	for t := x.first; t != nil; t = t.after {
		if t.after != nil && t.after.deadline < t.deadline {
			return fmt.Errorf("deadlines are not in order")
		}
		n++
	}
	if n > x.active {
		return fmt.Errorf("%d of %d have a deadline", n, x.active)
	}
	return nil
}
