package capture

import (
	"container/list"
	"errors"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// The reasons why packets of RoCE and the messages in them are not understood, besides the
// errors of the packages that parse them.
var (
	ErrICRC     = errors.New("ICRC is wrong")
	ErrNoAnswer = errors.New("answers nothing that the capture shows")
	ErrSame     = errors.New("is the other direction of a connection that was found")
)

// RoCE has the further fields of a Record of RoCEv2. It belongs to the decoder like the
// Record.
type RoCE struct {
	// Packet is the captured packet; for a message in several SEND packets, the last one.
	Packet ibta.Packet
	// CM is the message of the connection manager, if Kind is CMMessage.
	CM CM
	// Msg is the message of o2iblnd: in records of the kinds Message and Exchange, and in
	// the CM messages REQ and REP if HasMsg is set.
	Msg    kib.Msg
	HasMsg bool // whether Msg is set
	// Reject is why o2iblnd refuses, in the CM message REJ if HasReject is set.
	Reject    kib.Reject
	HasReject bool // whether Reject is set
	// Transfer is what an Exchange is about, nil if its beginning is not in the
	// capture.
	Transfer *Transfer
}

// CM is a message of the connection manager.
type CM struct {
	ibta.CM           // the message
	IP      ibta.IPCM // IP addresses and ports in the private data of a REQ
}

// Transfer is the payload of a message that goes by RDMA WRITE: from a PUT_REQ
// or GET_REQ to its DONE or NAK.
type Transfer struct {
	Request kib.MsgType // type of the request: PUT_REQ or GET_REQ
	From    Side        // the side that sent the request
	Header  wire.Header // LNet header of the message that is transferred
	Writes  int         // number of RDMA WRITEs so far
	Bytes   uint64      // bytes that the RDMA WRITEs moved so far
	Payload []byte      // beginning of the data that the RDMA WRITEs moved, as far as the decoder keeps it

	cookie    uint64 // cookie that the DONE of this transfer will have
	requested uint64 // cookie in the request
	key       uint32
	frags     []kib.Frag

	conn *roceConn     // the connection of which this is an unfinished transfer
	age  *list.Element // the element of this transfer in roce.moving
}

// writer returns the side that sends the RDMA WRITEs.
func (t *Transfer) writer() Side {
	if t.Request == kib.PutReq {
		return t.From
	}
	return t.From.Other()
}

// ByRDMA reports whether r is a message whose payload goes by RDMA WRITE. Its
// DONE will be a Record with the Transfer.
func (r *Record) ByRDMA() bool {
	return r.Kind == Message && r.RoCE != nil && r.RoCE.Msg.Type != kib.Immediate
}

// Moved returns the message that a PUT_DONE or GET_DONE stands for, with what
// was captured of its payload: the PUT, or the REPLY that GET_DONE replaces.
// There is none after a failure, or if the request is not in the capture.
func (r *Record) Moved() (*Record, bool) {
	if r.Kind != Exchange || r.RoCE.Transfer == nil || r.RoCE.Msg.Status < 0 || r.RoCE.Msg.Type == kib.PutNak || r.RoCE.Msg.Type == kib.PutAck {
		return nil, false
	}
	t, m := r.RoCE.Transfer, *r
	m.Kind, m.RoCE, m.Raw = Message, nil, t.Payload
	m.Payload, m.Header = t.Payload, t.Header
	if t.Request == kib.GetReq {
		m.Header.DestNID, m.Header.SrcNID = t.Header.SrcNID, t.Header.DestNID
		m.Header.DestPID, m.Header.SrcPID = t.Header.SrcPID, t.Header.DestPID
		m.Header.SetReply(wire.ReplyCmd{DstMD: t.Header.Get().ReturnMD})
	}
	m.Header.PayloadLength = uint32(r.RoCE.Msg.Status)
	m.Missing = m.Header.PayloadLength - min(m.Header.PayloadLength, uint32(min(t.Bytes, wire.MaxPayload)))
	return &m, true
}

// appendRoCE encodes a record of RoCE.
func (r *Record) appendRoCE(b []byte) ([]byte, error) {
	switch r.Kind {
	case CMMessage:
		return r.RoCE.CM.AppendTo(b), nil
	case Message, Exchange:
		return r.RoCE.Msg.AppendBinary(b)
	case RocePacket, Unknown:
		return append(b, r.Raw...), nil
	}
	return b, nil
}

// clone copies what a Record refers to.
func (r *RoCE) clone() *RoCE {
	c := *r
	if r.Transfer != nil {
		t := *r.Transfer
		t.Payload = append([]byte(nil), t.Payload...)
		c.Transfer = &t
	}
	return &c
}
