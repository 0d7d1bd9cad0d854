package portals

import (
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// PutRequest says which data to put, and where. Without LocalOffset and Length the whole MD
// is sent.
type PutRequest struct {
	Self      nid.NID       // local NID to send from; the zero NID or Any leaves it to LNet
	MD        MDHandle      // handle of the MD with the data, made by MDBind
	Ack       bool          // whether the target is to send an ACK
	Target    nid.ProcessID // process that receives the PUT
	Portal    int           // portal index at the target
	MatchBits uint64        // match bits of the PUT
	Offset    uint32        // offset in the target's MD, if that has the option ManageRemote
	HdrData   uint64        // 64 bits that the target's PUT event has

	LocalOffset int           // offset of the first byte in the MD
	Length      int           // number of bytes; 0: all from LocalOffset on
	OpPtr       any           // value that the events of this operation have
	Timeout     time.Duration // with Ack: the time within which the ACK must come; 0: response tracking, as the MD's options say
	// LeaveWithin is how long the PUT may wait for discovery, credits and a connection; 0: as long as LNet tries. After
	// a longer wait it is not sent any more when its turn comes, and its SEND event has the error [ErrLate], an ETIMEDOUT. Use
	// it for news that would be wrong if it arrived late.
	LeaveWithin time.Duration

	recovery bool // the same as GetRequest.Recovery
}

// Put sends an MD's data to a target (LNetPut). A nil error means that a SEND event will
// follow. If Ack is set, an ACK event will follow too, provided that the send succeeds and the
// target takes the message and answers. If no answer comes in time, the MD is unlinked (see the
// package text), unless the operation has a Timeout of its own.
//
//	EIO     the target was given to lnet.Node.FailNID
//	ENOENT  the MD is gone, exhausted, or attached to an ME
//	EINVAL  no such portal, a part that the MD does not have, a Timeout without Ack, or a negative time
//	ENOMEM  no more handles
func (t *Table) Put(r PutRequest) error {
	return t.initiate("Put", wire.Put, &r)
}

// GetRequest describes a GET. Without LocalOffset and Length it asks for as many bytes as the MD
// can take.
type GetRequest struct {
	Self      nid.NID       // the local NID to send from; zero or Any: LNet chooses
	MD        MDHandle      // the MD that receives the data, made by MDBind
	Target    nid.ProcessID // process that the data is fetched from
	Portal    int           // portal index at the target
	MatchBits uint64        // match bits of the GET
	Offset    uint32        // offset in the target's MD, if that has the option ManageRemote

	LocalOffset int // offset in the MD at which the bytes are put
	Length      int // number of bytes asked for; 0: all from LocalOffset on
	OpPtr       any // value that the events of this operation have
	// time within which the REPLY must begin to arrive, see the package text; 0: response tracking, as the
	// MD's options say.
	Timeout time.Duration
	// Recovery says that the Get is a ping of just the NID of Target, whose health is low, or at
	// which there may be no node: it takes no other path, and its failure lowers no health.
	Recovery bool
}

// Get fetches data from a target into an MD (LNetGet). A nil error means that a SEND event will
// follow. If the target answers, a REPLY event will follow too. If it does not, the MD is
// unlinked, unless the operation has a Timeout of its own. Errors as Put.
func (t *Table) Get(r GetRequest) error {
	return t.initiate("Get", wire.Get, &PutRequest{
		Self: r.Self, MD: r.MD, Target: r.Target, Portal: r.Portal, MatchBits: r.MatchBits, Offset: r.Offset,
		LocalOffset: r.LocalOffset, Length: r.Length, OpPtr: r.OpPtr, Timeout: r.Timeout,
		recovery: r.Recovery,
	})
}

func (t *Table) initiate(op string, typ wire.MsgType, r *PutRequest) error {
	var b begun
	if err := t.begin(&b, typ, r, noLimit); err != nil {
		return &OpError{Op: op, NID: r.Target.NID, Err: err}
	}
	t.launch(&b, typ, r)
	return nil
}

// launch gives the message of an operation that has begun to lnet, as an inline message if possible.
func (t *Table) launch(b *begun, typ wire.MsgType, r *PutRequest) {
	if !b.mayPost(typ, r) || !t.post(b, r) {
		t.send(b, typ, r)
	}
}

// send gives the message of an operation that has begun to lnet.
func (t *Table) send(b *begun, typ wire.MsgType, r *PutRequest) {
	o := t.sending(b, typ, r)
	o.Source, o.Flow, o.Recovery = r.Self, uint64(o.event.MD), r.recovery
	o.Priority = o.event.Options&Priority != 0
	if r.LeaveWithin > 0 {
		now := t.node.Clock().Now()
		o.LeaveBy = now + min(r.LeaveWithin, machine.Never-now)
	}
	o.Header.DestNID, o.Header.DestPID = r.Target.NID, r.Target.PID
	if typ == wire.Put {
		t.putHeader(&o.Header, b, r)
		o.Payload = b.payload(o.event.Segments)
	} else {
		t.getHeader(o, b, r)
	}
	t.node.Send(&o.Message)
}

// begun is a Put or Get that has begun: it has a reference to its MD.
type begun struct {
	part
	md       *md
	call     *call         // nil: the answer names the MD
	asked    nid.ProcessID // process that answers the message
	answerTo uint64        // handle that the answer names: of the MD or of the call
	timed    bool          // the call is there only to time the operation
	shared   *sharedSend   // SEND event that the operation shares with others; nil: it has its own
}

// asks reports whether a message asks for an answer.
func (r *PutRequest) asks(typ wire.MsgType) bool { return typ == wire.Get || r.Ack }

// begin starts an operation on the MD that r names, which moves at most limit bytes.
func (t *Table) begin(b *begun, typ wire.MsgType, r *PutRequest, limit int) error {
	if err := t.check(typ, r); err != nil {
		return err
	}
	d := t.lockMD(r.MD)
	if d == nil {
		return syscall.ENOENT
	}
	if err := t.prepare(b, d, typ, r, limit); err != nil {
		d.mu.Unlock()
		return err
	}
	d.begin()
	tracked := t.expect(b, typ, r)
	d.mu.Unlock()
	t.watchAnswers(tracked, r.Timeout > 0)
	return nil
}

// check returns the error of a request that is wrong whatever its MD is.
func (t *Table) check(typ wire.MsgType, r *PutRequest) error {
	switch {
	case t.node.FailsPut(&r.Target.NID):
		return syscall.EIO
	case r.Portal < 0 || r.Portal >= Portals, r.Timeout < 0, r.Timeout > 0 && !r.asks(typ), r.LeaveWithin < 0:
		return syscall.EINVAL
	}
	return nil
}

// prepare fills in b what an operation needs. In the MD it changes only the calls (callFor); Table.end undoes
// that. The caller holds d.mu.
func (t *Table) prepare(b *begun, d *md, typ wire.MsgType, r *PutRequest, limit int) (err error) {
	if !d.allows(1) {
		return syscall.ENOENT
	}
	if b.part, err = d.part(r); err != nil {
		return err
	}
	if b.length > limit {
		return syscall.EMSGSIZE
	}
	b.md, b.answerTo = d, uint64(d.handle)
	if r.asks(typ) {
		return t.callFor(b, d, typ, r)
	}
	return nil
}

// allows reports whether n operations of this node may begin on the MD. The caller holds d.mu.
func (d *md) allows(n int) bool {
	return d.me == 0 && (d.threshold == ThresholdInfinite || d.threshold >= n)
}

// expect notes that an answer is awaited, if the message asks for one, and reports whether it is
// tracked. The caller holds the MD's mu.
func (t *Table) expect(b *begun, typ wire.MsgType, r *PutRequest) (tracked bool) {
	if !r.asks(typ) {
		return false
	}
	b.asked = r.Target
	t.node.Responder(&b.asked)
	if b.call != nil {
		return t.awaitCall(b.md, b.call, b.asked, r.Timeout)
	}
	return t.await(b.md, &b.asked, typ)
}

// watchAnswers makes sure that answers which do not come are noticed: tracked ones, and those with a
// deadline. The caller holds no lock of an MD.
func (t *Table) watchAnswers(tracked, deadline bool) {
	if tracked {
		t.startSweeping()
	}
	if deadline {
		t.watchDeadlines()
	}
}

// sending makes an operation with the SEND event of a message, which has the lengths and offsets
// that were asked for.
func (t *Table) sending(b *begun, typ wire.MsgType, r *PutRequest) *operation {
	o := t.newOperation()
	o.md, o.asked, o.answerTo, o.Aborted, o.shared, o.sample.on = b.md, b.asked, b.answerTo, &b.md.aborted, b.shared, b.timed
	self := nid.ProcessID{NID: nid.Any(), PID: t.node.PID()}
	e := &o.event
	e.Kind, e.MsgType = EventSend, typ
	e.Target, e.Initiator, e.Source, e.Sender = r.Target, self, self, nid.Any()
	e.Portal, e.MatchBits, e.HdrData, e.OpPtr = r.Portal, r.MatchBits, r.HdrData, r.OpPtr
	e.RLength, e.MLength, e.Offset = uint32(b.length), uint32(b.length), r.Offset
	b.md.describe(e)
	return o
}

// putHeader fills in the header fields that only a PUT has, and the payload length.
func (t *Table) putHeader(h *wire.Header, b *begun, r *PutRequest) {
	ack := wire.NoHandle()
	if r.Ack {
		ack = t.wireHandle(b.answerTo)
	}
	h.SetPutOf(ack, r.MatchBits, r.HdrData, uint32(r.Portal), r.Offset)
	h.PayloadLength = uint32(b.length)
}

func (t *Table) getHeader(o *operation, b *begun, r *PutRequest) {
	o.Header.SetGet(wire.GetCmd{
		ReturnMD: t.wireHandle(b.answerTo), MatchBits: r.MatchBits,
		Portal: uint32(r.Portal), SrcOffset: r.Offset, SinkLength: uint32(b.length),
	})
	o.Header.PayloadLength = 0
	o.Sink = b.payload(o.event.Segments)
}

// wireHandle returns the wire form of the handle that the answer is to name, of an MD or a
// call.
func (t *Table) wireHandle(h uint64) wire.MDHandle {
	return wire.MDHandle{Interface: t.node.Incarnation(), Object: h}
}
