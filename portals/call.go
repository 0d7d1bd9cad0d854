package portals

import (
	"slices"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// call is a Put or Get whose answer must be distinguished from other answers to the same MD,
// because it has an OpPtr or a Timeout, uses a part of the MD, or is timed. The request carries the
// call's handle instead of the MD's, and the peer sends it back. Other operations have no call.
type call struct {
	md         atomic.Pointer[md] // nil: the slot is free; changes under the md's mu
	handle     atomic.Uint64      // handle of the call; changes under the md's mu
	generation uint64             // generation of the MD; guarded by md.mu, like all below
	id         nid.ProcessID      // process that has to answer
	typ        wire.MsgType       // type of the message for which this node awaits an answer: PUT or GET
	offset     int                // offset in the MD of the part used, in bytes
	length     int                // length of the part used, in bytes
	ptr        any                // value of PutRequest.OpPtr
	hop        nid.NID            // next hop of the message, if LNet chose its path
	went       nid.NID            // the NID to which the message went, if LNet chose its path: an NID of the node of id
	tracked    bool               // the answer is tracked, as the MD demands
	sample     sample             // whether and since when the operation is timed
	onlyTimed  bool               // the operation has a call only to be timed
	before     *call              // previous call in the list of the MD's calls
	after      *call              // next call in the list of the MD's calls
	// deadline of the answer, guarded by deadlines.mu. md.mu guards its field Of too, which is nil if there
	// is no deadline.
	timeout machine.Deadline[*call]
}

// part is the bytes of an MD that an operation moves.
type part struct{ offset, length int }

// part returns the part of the MD that a request names. The caller holds d.mu.
func (d *md) part(r *PutRequest) (p part, err error) {
	rest := d.length - r.LocalOffset
	if r.LocalOffset < 0 || rest < 0 || r.Length < 0 || r.Length > rest {
		return p, syscall.EINVAL
	}
	if r.Length > 0 {
		rest = r.Length
	}
	return part{r.LocalOffset, rest}, nil
}

// payload returns the part p of segments as a payload.
func (p part) payload(segments []lnd.Segment) lnd.Payload {
	return lnd.Payload{Segments: segments, Offset: p.offset, Length: p.length}
}

// needsCall reports whether the answer to an operation must be told apart from others.
func (r *PutRequest) needsCall(typ wire.MsgType, p part, d *md) bool {
	return r.OpPtr != nil || r.Timeout > 0 || typ == wire.Get && p.length != d.length
}

// callFor makes a call for b, an operation that asks for an answer, if the answer must be told apart
// from others or the operation is to be timed. The caller holds d.mu.
func (t *Table) callFor(b *begun, d *md, typ wire.MsgType, r *PutRequest) error {
	if d.asked == nil {
		d.asked = &asked{random: seed(d.slot)}
	}
	needed := r.needsCall(typ, b.part, d)
	timed := t.samples(d) && (needed || d.asked.timed < maxTimed)
	if !needed && !timed {
		return nil
	}
	c, err := t.newCall(d, typ, r, b.part)
	switch {
	case err == nil:
		c.sample.on, c.onlyTimed, b.timed = timed, !needed, !needed
		b.call, b.answerTo = c, c.handle.Load()
		if !needed {
			d.asked.timed++
		}
	case needed:
		return err
	}
	return nil // no free slot, but the operation needs no call: it goes on and is not timed
}

// newCall takes a slot for an operation of an MD whose field asked is set. The caller holds d.mu.
func (t *Table) newCall(d *md, typ wire.MsgType, r *PutRequest, p part) (*call, error) {
	slot, ok := t.calls.take()
	if !ok {
		return nil, syscall.ENOMEM
	}
	c := t.calls.at(slot)
	c.generation++
	c.typ, c.offset, c.length, c.ptr, c.sample = typ, p.offset, p.length, r.OpPtr, sample{}
	c.hop, c.went = nid.NID{}, nid.NID{}
	if c.before, c.after = nil, d.asked.calls; c.after != nil {
		c.after.before = c
	}
	d.asked.calls = c
	c.handle.Store(makeCookie(cookieCall, slot, c.generation))
	c.md.Store(d)
	return c, nil
}

// lockCall returns the call of a handle and its MD, locked, or nil.
func (t *Table) lockCall(handle uint64) (*call, *md) {
	c := t.calls.at(cookieSlot(handle))
	if c == nil {
		return nil, nil
	}
	d := c.md.Load()
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	if !c.is(handle, d) {
		d.mu.Unlock()
		return nil, nil
	}
	return c, d
}

// is reports whether c is still the call with a handle, on the MD d. The caller holds d.mu.
func (c *call) is(handle uint64, d *md) bool { return c.md.Load() == d && c.handle.Load() == handle }

// end ends a call: no answer to it is awaited any more. The caller holds d.mu.
func (t *Table) end(d *md, c *call) {
	if c.timeout.Of != nil {
		t.deadlines.remove(c)
	}
	if c.before != nil {
		c.before.after = c.after
	} else {
		d.asked.calls = c.after
	}
	if c.after != nil {
		c.after.before = c.before
	}
	if c.tracked {
		c.tracked = false
		d.asked.tracked--
	}
	if c.onlyTimed {
		c.onlyTimed = false
		d.asked.timed--
	}
	slot := cookieSlot(c.handle.Load())
	c.before, c.after, c.ptr = nil, nil, nil
	c.md.Store(nil)
	c.handle.Store(0)
	t.calls.put(slot, c.generation)
}

// endCalls ends all calls of an MD that ends. The caller holds d.mu.
func (t *Table) endCalls(d *md) {
	for d.asked != nil && d.asked.calls != nil {
		t.end(d, d.asked.calls)
	}
}

// isAsked reports whether id is the process that the call asked, or another NID of its node:
// a node may answer from any. See answeredBy.
func (t *Table) isAsked(c *call, id *nid.ProcessID) bool {
	return c.id == *id || c.id.PID == id.PID && (c.went == id.NID ||
		slices.ContainsFunc(t.node.Peer(id.NID).NIs, func(there wire.NIStatus) bool { return there.NID == c.id.NID }))
}

// timeOut ends a call whose deadline has passed without an answer, and delivers an event that
// says so. It is entered with d.mu held and returns with it released.
func (t *Table) timeOut(d *md, c *call) {
	o := t.newOperation()
	o.md = d
	e := &o.event
	if e.Kind = EventAck; c.typ == wire.Get {
		e.Kind = EventReply
	}
	e.Initiator, e.Source, e.Sender = c.id, c.id, nid.Any()
	e.Target = nid.ProcessID{NID: nid.Any(), PID: t.node.PID()}
	e.OpPtr, e.Offset = c.ptr, uint32(c.offset)
	hop, asked := c.hop, c.sample.began
	t.end(d, c)
	d.settle()
	d.begin()
	d.describe(e)
	d.mu.Unlock()
	t.node.CountResponseTimeout(hop, asked)
	t.complete(o, syscall.ETIMEDOUT)
}
