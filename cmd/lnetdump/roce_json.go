package main

import (
	"strconv"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// roceEntry is what RoCE says, as a JSON object.
type roceEntry struct {
	OpCode  string  `json:"opcode,omitempty"`
	DestQP  uint32  `json:"dest_qp"`
	PSN     *uint32 `json:"psn,omitempty"` // of a packet
	AckReq  bool    `json:"ack_req,omitempty"`
	Payload *int    `json:"payload,omitempty"` // bytes in the packet
	Answer  string  `json:"syndrome,omitempty"`
	MSN     *uint32 `json:"msn,omitempty"`
	RKey    string  `json:"rkey,omitempty"`
	Address string  `json:"address,omitempty"`
	Length  *uint32 `json:"dma_length,omitempty"`

	CM      *cmEntry  `json:"cm,omitempty"`
	O2iblnd *kibEntry `json:"o2iblnd,omitempty"`
	Reject  *rejEntry `json:"reject,omitempty"`
}

type cmEntry struct {
	Message     string  `json:"message"`
	Transaction string  `json:"transaction"`
	LocalID     string  `json:"local_id,omitempty"`
	RemoteID    string  `json:"remote_id,omitempty"`
	Service     string  `json:"service_id,omitempty"`
	SrcPort     *uint16 `json:"src_port,omitempty"`
	QP          *uint32 `json:"qp,omitempty"`
	StartingPSN *uint32 `json:"starting_psn,omitempty"`
	MTU         int     `json:"mtu,omitempty"`
	Reason      uint16  `json:"reason,omitempty"`
}

type kibEntry struct {
	Message    string      `json:"message"`
	Version    uint16      `json:"version"`
	ByteOrder  string      `json:"byte_order,omitempty"`
	Credits    uint8       `json:"credits"`
	Nob        uint32      `json:"nob"`
	SrcNID     string      `json:"src_nid"`
	SrcStamp   string      `json:"src_incarnation"`
	DestNID    string      `json:"dest_nid"`
	DestStamp  string      `json:"dest_incarnation"`
	QueueDepth *uint16     `json:"queue_depth,omitempty"`
	MaxFrags   *uint16     `json:"max_frags,omitempty"`
	Cookie     string      `json:"cookie,omitempty"`
	DstCookie  string      `json:"dst_cookie,omitempty"`
	Status     *int32      `json:"status,omitempty"`
	RKey       string      `json:"rkey,omitempty"`
	Frags      []fragEntry `json:"fragments,omitempty"`
	Writes     *int        `json:"rdma_writes,omitempty"` // of the transfer that is done
	Bytes      *uint64     `json:"rdma_bytes,omitempty"`
}

type fragEntry struct {
	Length  uint32 `json:"length"`
	Address string `json:"address"`
}

type rejEntry struct {
	Why        string  `json:"why"`
	Version    uint16  `json:"version"`
	Stamp      string  `json:"incarnation,omitempty"`
	QueueDepth *uint16 `json:"queue_depth,omitempty"`
	MaxFrags   *uint16 `json:"max_frags,omitempty"`
}

// roce fills in what RoCE says.
func (e *entry) roce(r *shown) {
	x := r.RoCE
	if r.Kind == capture.Opened || r.Kind == capture.Closed || r.Kind == capture.Lost || r.Kind == capture.MidStream {
		return
	}
	e.RoCE = &roceEntry{DestQP: uint32(x.Packet.DestQP)}
	switch r.Kind {
	case capture.RocePacket:
		e.RoCE.packet(&x.Packet)
	case capture.CMMessage:
		e.RoCE.CM = cmEntryOf(&x.CM)
	case capture.Exchange:
		e.SrcNID, e.DestNID = x.Msg.SrcNID.String(), x.Msg.DstNID.String()
		if m, ok := r.Moved(); ok {
			e.message(&shown{m, r.said})
		}
	case capture.Message:
		e.message(r)
	}
	if x.HasMsg {
		e.RoCE.O2iblnd = kibEntryOf(x)
	}
	if j := &x.Reject; x.HasReject {
		e.RoCE.Reject = &rejEntry{Why: j.Why.String(), Version: uint16(j.Version)}
		if j.Complete {
			e.RoCE.Reject.Stamp = strconv.FormatUint(j.Stamp, 10)
			e.RoCE.Reject.QueueDepth, e.RoCE.Reject.MaxFrags = &j.Params.QueueDepth, &j.Params.MaxFrags
		}
	}
	e.Checksum = checksumNames[r.Checksum]
}

func (e *roceEntry) packet(p *ibta.Packet) {
	e.OpCode, e.AckReq = p.OpCode.String(), p.AckReq
	psn, n := uint32(p.PSN), len(p.Payload)
	e.PSN, e.Payload = &psn, &n
	switch {
	case p.OpCode == ibta.Acknowledge:
		msn := p.AETH.MSN
		e.Answer, e.MSN = p.AETH.Syndrome.String(), &msn
	case p.OpCode.IsWrite() && p.OpCode.IsFirst():
		length := p.RETH.Length
		e.RKey, e.Address, e.Length = hex(uint64(p.RETH.RKey)), hex(p.RETH.Address), &length
	}
}

func cmEntryOf(c *capture.CM) *cmEntry {
	e := &cmEntry{Message: c.MAD.Attribute.String(), Transaction: hex(c.MAD.TransactionID)}
	id := func(local, remote ibta.CommID) { e.LocalID, e.RemoteID = hex(uint64(local)), hex(uint64(remote)) }
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		e.LocalID, e.Service, e.MTU = hex(uint64(c.REQ.LocalID)), hex(uint64(c.REQ.ServiceID)), c.REQ.MTU.Bytes()
		port := c.IP.SrcPort
		e.SrcPort, e.QP, e.StartingPSN = &port, number(c.REQ.QPN), number(c.REQ.StartingPSN)
	case ibta.AttrREP:
		id(c.REP.LocalID, c.REP.RemoteID)
		e.QP, e.StartingPSN = number(c.REP.QPN), number(c.REP.StartingPSN)
	case ibta.AttrREJ:
		id(c.REJ.LocalID, c.REJ.RemoteID)
		e.Reason = uint16(c.REJ.Reason)
	case ibta.AttrMRA:
		id(c.MRA.LocalID, c.MRA.RemoteID)
	case ibta.AttrRTU:
		id(c.RTU.LocalID, c.RTU.RemoteID)
	case ibta.AttrDREQ:
		id(c.DREQ.LocalID, c.DREQ.RemoteID)
		e.QP = number(c.DREQ.RemoteQPN)
	case ibta.AttrDREP:
		id(c.DREP.LocalID, c.DREP.RemoteID)
	}
	return e
}

func kibEntryOf(x *capture.RoCE) *kibEntry {
	m := x.Msg
	e := &kibEntry{
		Message: m.Type.String(), Version: uint16(m.Version), ByteOrder: byteOrder(m.BigEndian), Credits: m.Credits, Nob: m.Nob,
		SrcNID: m.SrcNID.String(), SrcStamp: strconv.FormatUint(m.SrcStamp, 10),
		DestNID: m.DstNID.String(), DestStamp: strconv.FormatUint(m.DstStamp, 10),
	}
	switch m.Type {
	case kib.ConnReq, kib.ConnAck:
		e.QueueDepth, e.MaxFrags = &m.Params.QueueDepth, &m.Params.MaxFrags
	case kib.PutReq:
		e.Cookie = hex(m.Cookie)
	case kib.PutAck:
		e.Cookie, e.DstCookie = hex(m.Cookie), hex(m.DstCookie)
	case kib.GetReq:
		e.Cookie = hex(m.Cookie)
	case kib.PutNak, kib.PutDone, kib.GetDone:
		e.Cookie, e.Status = hex(m.Cookie), &m.Status
		if t := x.Transfer; t != nil && m.Type != kib.PutNak {
			writes, bytes := t.Writes, t.Bytes
			e.Writes, e.Bytes = &writes, &bytes
		}
	}
	if n := m.Desc.Len(); n > 0 {
		e.RKey = hex(uint64(m.Desc.Key))
		for i := range n {
			f := m.Desc.Frag(i)
			e.Frags = append(e.Frags, fragEntry{f.Length, hex(f.Address)})
		}
	}
	return e
}

func number[T ~uint32](v T) *uint32 {
	n := uint32(v)
	return &n
}
