package portals

import (
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// tracker knows when to give up MDs whose ACK or REPLY does not come
// (LNet lib-move.c lnet_attach_rsp_tracker, lnet_finalize_expired_responses).
//
// As in LNet an MD is given up as a whole, its time counts from its latest operation, and time is counted in
// rounds of half the transaction timeout. Tracking an operation reads no clock and sets no timer. It only
// notes the round in the operation's MD. One timer serves the table while any tracked answer is awaited.
// Three rounds after an operation, between one and one and a half transaction timeouts have passed.
type tracker struct {
	round   atomic.Uint64 // number of the present round; 0: none
	running atomic.Bool   // the timer is running, or about to be set
}

// patience is the number of rounds that an answer may take.
const patience = 3

// tracks reports whether the answer to an operation on an MD is waited for no
// longer than the transaction timeout (lnet_response_tracking_enabled).
func (t *Table) tracks(options MDOption, typ wire.MsgType) bool {
	gets, puts := t.node.TracksResponses()
	switch {
	case options&NoTrackResponse != 0:
		return false
	case options&TrackResponse != 0:
		return true
	case typ == wire.Get:
		return gets
	default:
		return puts
	}
}

// await notes that an answer of a process to an operation is awaited, and reports whether it
// is tracked. If it is, the caller calls startSweeping afterwards. callFor has set d.asked. The caller
// holds d.mu.
func (t *Table) await(d *md, id *nid.ProcessID, typ wire.MsgType) (tracked bool) {
	d.asked.add(id, typ)
	d.asked.hop = nid.NID{} // zero until the next hop is known
	if !t.tracks(d.options, typ) {
		return false
	}
	*d.asked.tracks(typ) = true
	d.awaited = t.tracker.round.Load()
	return true
}

// answered notes that the answer of a process to an operation has come from the given NID, which may be another one of its
// node, or that it never will come. It reports whether this process was asked. The caller holds d.mu.
func (t *Table) answered(d *md, id *nid.ProcessID, from *nid.NID, typ wire.MsgType) bool {
	if !d.asked.take(id, from, typ, d.refs > 0) {
		return false
	}
	d.settle()
	return true
}

// settle clears d.awaited when no tracked answer is awaited any more. The caller holds d.mu.
func (d *md) settle() {
	if !d.asked.acks && !d.asked.replies && d.asked.tracked == 0 {
		d.awaited = 0
	}
}

// awaitCall does what await does, for an operation with a call. If timeout is not 0, the call has a
// deadline of its own. The caller holds d.mu.
func (t *Table) awaitCall(d *md, c *call, asked nid.ProcessID, timeout time.Duration) (tracked bool) {
	c.id = asked
	if timeout > 0 || c.sample.on {
		c.sample.began = t.node.Clock().Now()
	}
	if timeout > 0 {
		t.deadlines.add(c, c.sample.began+min(timeout, machine.Never-c.sample.began)) // the sum may not overflow
		return false
	}
	if c.tracked = t.tracks(d.options, c.typ); c.tracked {
		d.asked.tracked++
		d.awaited = t.tracker.round.Load()
	}
	return c.tracked
}

// answeredBy does what answered does, for the sender of a message that arrived: a node may
// answer from another NID than the one that was asked. That includes the NIDs to which requests
// went, even if discovery does not know at present that they are the node's. The caller holds d.mu.
func (t *Table) answeredBy(d *md, id *nid.ProcessID, typ wire.MsgType) bool {
	if t.answered(d, id, &id.NID, typ) {
		return true
	}
	for _, there := range t.node.Peer(id.NID).NIs {
		if t.answered(d, &nid.ProcessID{NID: there.NID, PID: id.PID}, &id.NID, typ) {
			return true
		}
	}
	if d.asked == nil {
		return false
	}
	for _, w := range d.asked.went {
		if w.n > 0 && w.to == id.NID && w.named.PID == id.PID && t.answered(d, &w.named, &id.NID, typ) {
			return true
		}
	}
	return false
}

// startSweeping makes sure that a sweep follows. It takes no lock.
func (t *Table) startSweeping() {
	if t.tracker.running.Load() || t.tracker.running.Swap(true) {
		return
	}
	t.node.Clock().AfterFunc(t.node.TransactionTimeout()/2, t.sweep)
}

// sweep begins a new round and gives up MDs that have waited for too long. It looks at all MDs,
// which costs less than a list to which every operation adds itself and from which it removes
// itself. If an operation begins meanwhile, either this sweep sees the operation, or the
// operation sees that the timer does not run and sets it.
func (t *Table) sweep() {
	t.tracker.running.Store(false)
	round := t.tracker.round.Add(1)
	more := false
	for slot := range t.mds.size() {
		d := t.mds.at(slot)
		d.mu.Lock()
		switch since := d.awaited; {
		case since == 0:
			d.mu.Unlock()
		case round < since+patience: // if this sweep is slow, the value of since may already be the round of the next one
			more = true
			d.mu.Unlock()
		default:
			t.giveUp(d)
		}
	}
	if more {
		t.startSweeping()
	}
}

// noteHop notes the next hop of an operation's PUT or GET, whose health falls if no answer comes, and the NID to which the
// message went, from which the answer may come.
func (t *Table) noteHop(o *operation, hop nid.NID) {
	if o.event.MsgType == wire.Put && o.Header.Put().AckMD.IsNone() {
		return // no answer is awaited
	}
	d := o.md
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked == nil || o.event.Kind != EventSend {
		return
	}
	if cookieKind(o.answerTo) != cookieCall {
		d.asked.hop = hop
		d.asked.note(&o.asked, &o.Header.DestNID)
	} else if c := t.calls.at(cookieSlot(o.answerTo)); c.is(o.answerTo, d) {
		c.hop, c.went = hop, o.Header.DestNID
	}
}

// hop returns the next hop of the latest PUT or GET that awaits an answer, if LNet chose its path. A call
// that only times its operation is used as a last resort, because its answer may have been lost long ago. The
// caller holds d.mu.
func (d *md) hop() nid.NID {
	if d.asked == nil {
		return nid.NID{}
	}
	c := d.asked.calls
	for c != nil && c.onlyTimed {
		c = c.after
	}
	switch {
	case c != nil:
		return c.hop
	case d.asked.all == (answers{}) && d.asked.calls != nil:
		return d.asked.calls.hop
	}
	return d.asked.hop
}

// giveUp ends an MD whose answer did not come. It is entered with d.mu held
// and returns with it released.
func (t *Table) giveUp(d *md) {
	d.late = true
	hop := d.hop()
	t.unlink(d)
	t.node.CountResponseTimeout(hop, t.node.Clock().Now()-t.node.TransactionTimeout())
}

// eventError returns the error for the event of an operation that ended with err: ETIMEDOUT
// in the last event of an MD that was given up (lnet_msg_detach_md). The caller holds d.mu.
func (d *md) eventError(err error, last bool) error {
	if err == nil && last && d.late {
		return syscall.ETIMEDOUT
	}
	return err
}
