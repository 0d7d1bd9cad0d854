package portals

import (
	"syscall"
	"time"

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

	LocalOffset int           // offset in the MD of the first byte
	Length      int           // number of bytes; 0: all from LocalOffset on
	OpPtr       any           // value that the events of this operation have
	Timeout     time.Duration // with Ack: how long the ACK may take; 0: as the MD says

	recovery bool // the same as GetRequest.recovery
}

// Put sends an MD's data to a target (LNetPut). A nil error means that a SEND event will
// follow. If Ack is set, an ACK event will follow too, provided that the send succeeds and the
// target takes the message and answers. If no answer comes in time, the MD is unlinked (see the
// package text), unless the operation has a Timeout of its own.
//
//	EIO     the target was given to lnet.Node.FailNID
//	ENOENT  the MD is gone, exhausted, or attached to an ME
//	EINVAL  no such portal, a part that the MD does not have, or a Timeout without Ack
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

	LocalOffset int           // offset in the MD at which the bytes are put
	Length      int           // how many are asked for; 0: all from LocalOffset on
	OpPtr       any           // value that the events of this operation have
	Timeout     time.Duration // how long the REPLY may take; 0: as the MD says
	// Recovery says that the Get is a recovery ping of just the NID of Target, whose health
	// is low: it takes no other path, and its failure lowers no health.
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
	if b.mayPost(typ, r) && t.post(&b, r) {
		return nil
	}
	o := t.sending(&b, typ, r)
	o.Source, o.Flow, o.Recovery = r.Self, uint64(r.MD), r.recovery
	o.Priority = o.event.Options&Priority != 0
	o.Header.DestNID, o.Header.DestPID = r.Target.NID, r.Target.PID
	if typ == wire.Put {
		t.putHeader(&o.Header, &b, r)
		o.Payload = b.payload(o.event.Segments)
	} else {
		t.getHeader(o, &b, r)
	}
	t.node.Send(&o.Message)
	return nil
}

// begun is a Put or Get that has begun: the MD has a reference more.
type begun struct {
	part
	md       *md
	asked    nid.ProcessID // process that answers the message
	answerTo uint64        // handle in its answer, of the MD or of a call
}

// begin starts an operation on the MD that r names, which moves at most limit bytes.
func (t *Table) begin(b *begun, typ wire.MsgType, r *PutRequest, limit int) (err error) {
	asks := typ == wire.Get || r.Ack
	switch {
	case t.node.FailsPut(r.Target.NID):
		return syscall.EIO
	case r.Portal < 0 || r.Portal >= Portals, r.Timeout < 0, r.Timeout > 0 && !asks:
		return syscall.EINVAL
	}
	d := t.lockMD(r.MD)
	if d == nil {
		return syscall.ENOENT
	}
	var c *call
	if b.part, err = d.admit(r, limit); err == nil && asks && r.needsCall(typ, b.part, d) {
		c, err = t.newCall(d, typ, r, b.part)
	}
	if err != nil {
		d.mu.Unlock()
		return err
	}
	d.begin()
	b.md, b.answerTo = d, uint64(r.MD)
	tracked := false
	if asks {
		b.asked = r.Target
		t.node.Responder(&b.asked)
		if c == nil {
			tracked = t.await(d, &b.asked, typ)
		} else {
			b.answerTo = c.handle.Load()
			tracked = t.awaitCall(d, c, b.asked, r.Timeout)
		}
	}
	d.mu.Unlock()
	if tracked {
		t.startSweeping()
	}
	if r.Timeout > 0 {
		t.watchDeadlines()
	}
	return nil
}

// admit returns the part of an MD that an operation may move. The caller holds d.mu.
func (d *md) admit(r *PutRequest, limit int) (part, error) {
	if d.threshold == 0 || d.me != 0 {
		return part{}, syscall.ENOENT
	}
	p, err := d.part(r)
	if err == nil && p.length > limit {
		err = syscall.EMSGSIZE
	}
	return p, err
}

// sending makes an operation with the SEND event of a message, which has the lengths and offsets
// that were asked for.
func (t *Table) sending(b *begun, typ wire.MsgType, r *PutRequest) *operation {
	o := t.newOperation()
	o.md, o.asked, o.answerTo, o.Aborted = b.md, b.asked, b.answerTo, &b.md.aborted
	self := nid.ProcessID{NID: nid.Any(), PID: t.node.PID()}
	e := &o.event
	e.Kind, e.MsgType = EventSend, typ
	e.Target, e.Initiator, e.Source, e.Sender = r.Target, self, self, nid.Any()
	e.Portal, e.MatchBits, e.HdrData, e.OpPtr = r.Portal, r.MatchBits, r.HdrData, r.OpPtr
	e.RLength, e.MLength, e.Offset = uint32(b.length), uint32(b.length), r.Offset
	b.md.describe(e)
	return o
}

// putHeader fills in what is special in the header of a PUT.
func (t *Table) putHeader(h *wire.Header, b *begun, r *PutRequest) {
	cmd := wire.PutCmd{
		AckMD: wire.NoHandle(), MatchBits: r.MatchBits, HdrData: r.HdrData,
		Portal: uint32(r.Portal), Offset: r.Offset,
	}
	if r.Ack {
		cmd.AckMD = t.wireHandle(b.answerTo)
	}
	h.SetPut(cmd)
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
