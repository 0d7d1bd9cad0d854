package portals

import (
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// PutRequest says what to put where. The whole MD is sent.
type PutRequest struct {
	Self      nid.NID // the local NID to send from; zero or Any: LNet chooses
	MD        MDHandle
	Ack       bool // ask for an ACK
	Target    nid.ProcessID
	Portal    int
	MatchBits uint64
	Offset    uint32 // in the target's MD, if that is ManageRemote
	HdrData   uint64 // delivered in the target's PUT event
}

// Put sends an MD's data to a target (LNetPut). A nil error means that a SEND
// event will follow, and, if Ack is set, the send succeeds and the target
// takes the message and answers, an ACK event. No answer in time unlinks the
// MD (see the package text).
//
//	EIO     the target was given to lnet.Node.FailNID
//	ENOENT  the MD is gone, exhausted, or attached to an ME
//	EINVAL  no such portal
func (t *Table) Put(r PutRequest) error {
	return t.initiate("Put", wire.Put, &r)
}

// GetRequest says what to get from where. The MD's length is asked for.
type GetRequest struct {
	Self      nid.NID // the local NID to send from; zero or Any: LNet chooses
	MD        MDHandle
	Target    nid.ProcessID
	Portal    int
	MatchBits uint64
	Offset    uint32 // in the target's MD, if that is ManageRemote
}

// Get fetches data from a target into an MD (LNetGet). A nil error means that
// a SEND event will follow, and, if the target answers, a REPLY event, or the
// MD is unlinked. Errors as Put.
func (t *Table) Get(r GetRequest) error {
	return t.initiate("Get", wire.Get, &PutRequest{
		Self: r.Self, MD: r.MD, Target: r.Target, Portal: r.Portal, MatchBits: r.MatchBits, Offset: r.Offset,
	})
}

func (t *Table) initiate(op string, typ wire.MsgType, r *PutRequest) error {
	o, length, err := t.begin(typ, r, noLimit)
	if err != nil {
		return &OpError{Op: op, NID: r.Target.NID, Err: err}
	}
	t.sendEvent(o, r, length)
	o.Source = r.Self
	o.Priority = o.event.Options&Priority != 0
	o.Header.DestNID, o.Header.DestPID = r.Target.NID, r.Target.PID
	if typ == wire.Put {
		t.putHeader(o, r, length)
	} else {
		t.getHeader(o, r, length)
	}
	t.node.Send(&o.Message)
	return nil
}

// begin starts an operation on the MD that r names, which must not be longer than
// limit, and returns the MD's length.
func (t *Table) begin(typ wire.MsgType, r *PutRequest, limit int) (o *operation, length int, err error) {
	if t.node.FailsPut(r.Target.NID) {
		return nil, 0, syscall.EIO
	}
	if r.Portal < 0 || r.Portal >= Portals {
		return nil, 0, syscall.EINVAL
	}
	d := t.lockMD(r.MD)
	if d == nil {
		return nil, 0, syscall.ENOENT
	}
	switch {
	case d.threshold == 0 || d.me != 0:
		d.mu.Unlock()
		return nil, 0, syscall.ENOENT
	case d.length > limit:
		d.mu.Unlock()
		return nil, 0, syscall.EMSGSIZE
	}
	d.begin()
	o = t.newOperation()
	tracked := false
	if typ == wire.Get || r.Ack {
		o.asked = r.Target
		t.node.Responder(&o.asked)
		tracked = t.await(d, &o.asked, typ)
	}
	o.md = d
	o.event.MsgType = typ
	o.Aborted = &d.aborted
	d.describe(&o.event)
	length = d.length
	d.mu.Unlock()
	if tracked {
		t.startSweeping()
	}
	return o, length, nil
}

// sendEvent fills in the SEND event, which speaks of what was asked for.
func (t *Table) sendEvent(o *operation, r *PutRequest, length int) {
	self := nid.ProcessID{NID: nid.Any(), PID: t.node.PID()}
	e := &o.event
	e.Kind = EventSend
	e.Target, e.Initiator, e.Source, e.Sender = r.Target, self, self, nid.Any()
	e.Portal, e.MatchBits, e.HdrData = r.Portal, r.MatchBits, r.HdrData
	e.RLength, e.MLength, e.Offset = uint32(length), uint32(length), r.Offset
}

func (t *Table) putHeader(o *operation, r *PutRequest, length int) {
	cmd := wire.PutCmd{
		AckMD: wire.NoHandle(), MatchBits: r.MatchBits, HdrData: r.HdrData,
		Portal: uint32(r.Portal), Offset: r.Offset,
	}
	if r.Ack {
		cmd.AckMD = t.wireHandle(r.MD)
	}
	o.Header.SetPut(cmd)
	o.Header.PayloadLength = uint32(length)
	o.Payload = lnd.Payload{Segments: o.event.Segments, Length: length}
}

func (t *Table) getHeader(o *operation, r *PutRequest, length int) {
	o.Header.SetGet(wire.GetCmd{
		ReturnMD: t.wireHandle(r.MD), MatchBits: r.MatchBits,
		Portal: uint32(r.Portal), SrcOffset: r.Offset, SinkLength: uint32(length),
	})
	o.Header.PayloadLength = 0
	o.Sink = lnd.Payload{Segments: o.event.Segments, Length: length}
}

func (t *Table) wireHandle(h MDHandle) wire.MDHandle {
	return wire.MDHandle{Interface: t.node.Incarnation(), Object: uint64(h)}
}
