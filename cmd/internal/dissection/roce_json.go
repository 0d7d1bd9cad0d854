package dissection

import (
	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// roce puts the fields of the RoCE headers.
func (o *object) roce(r *Shown) {
	x := r.RoCE
	switch {
	case x == nil, r.Kind == capture.Opened, r.Kind == capture.Closed, r.Kind == capture.Lost, r.Kind == capture.MidStream:
		return
	}
	var e object
	if r.Kind == capture.RocePacket {
		e.packet(&x.Packet)
	} else {
		e.put("dest_qp", uint32(x.Packet.DestQP))
	}
	if r.Kind == capture.CMMessage {
		e.put("cm", cmObject(&x.CM))
	}
	if x.HasMsg {
		e.put("o2iblnd", kibObject(x))
	}
	if j := &x.Reject; x.HasReject {
		reject := object{{"why", j.Why.String()}, {"version", uint16(j.Version)}}
		if j.Complete {
			reject.put("incarnation", decimal(j.Stamp))
			reject.put("queue_depth", j.Params.QueueDepth)
			reject.put("max_frags", j.Params.MaxFrags)
		}
		e.put("reject", reject)
	}
	o.put("roce", e)
}

func (o *object) packet(p *ibta.Packet) {
	o.some("opcode", p.OpCode.String())
	o.put("dest_qp", uint32(p.DestQP))
	o.put("psn", uint32(p.PSN))
	o.some("ack_req", p.AckReq)
	o.put("payload", len(p.Payload)) // number of payload bytes in the packet
	switch {
	case p.OpCode == ibta.Acknowledge:
		o.some("syndrome", p.AETH.Syndrome.String())
		o.put("msn", p.AETH.MSN)
	case p.OpCode.IsWrite() && p.OpCode.IsFirst():
		o.put("rkey", hex(uint64(p.RETH.RKey)))
		o.put("address", hex(p.RETH.Address))
		o.put("dma_length", p.RETH.Length)
	}
}

func cmObject(c *capture.CM) (o object) {
	o.put("message", c.MAD.Attribute.String())
	o.put("transaction", hex(c.MAD.TransactionID))
	id := func(local, remote ibta.CommID) {
		o.put("local_id", hex(uint64(local)))
		o.put("remote_id", hex(uint64(remote)))
	}
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		o.put("local_id", hex(uint64(c.REQ.LocalID)))
		o.put("service_id", hex(uint64(c.REQ.ServiceID)))
		o.put("src_port", c.IP.SrcPort)
		o.put("qp", uint32(c.REQ.QPN))
		o.put("starting_psn", uint32(c.REQ.StartingPSN))
		o.some("mtu", c.REQ.MTU.Bytes())
	case ibta.AttrREP:
		id(c.REP.LocalID, c.REP.RemoteID)
		o.put("qp", uint32(c.REP.QPN))
		o.put("starting_psn", uint32(c.REP.StartingPSN))
	case ibta.AttrREJ:
		id(c.REJ.LocalID, c.REJ.RemoteID)
		o.some("reason", uint16(c.REJ.Reason))
	case ibta.AttrMRA:
		id(c.MRA.LocalID, c.MRA.RemoteID)
	case ibta.AttrRTU:
		id(c.RTU.LocalID, c.RTU.RemoteID)
	case ibta.AttrDREQ:
		id(c.DREQ.LocalID, c.DREQ.RemoteID)
		o.put("qp", uint32(c.DREQ.RemoteQPN))
	case ibta.AttrDREP:
		id(c.DREP.LocalID, c.DREP.RemoteID)
	}
	return o
}

func kibObject(x *capture.RoCE) (o object) {
	m := &x.Msg
	o.put("message", m.Type.String())
	o.put("version", uint16(m.Version))
	o.byteOrder(m.BigEndian)
	o.put("credits", m.Credits)
	o.put("nob", m.Nob)
	o.put("src_nid", m.SrcNID.String())
	o.put("src_incarnation", decimal(m.SrcStamp))
	o.put("dest_nid", m.DstNID.String())
	o.put("dest_incarnation", decimal(m.DstStamp))
	switch m.Type {
	case kib.ConnReq, kib.ConnAck:
		o.put("queue_depth", m.Params.QueueDepth)
		o.put("max_frags", m.Params.MaxFrags)
	case kib.PutReq, kib.GetReq:
		o.put("cookie", hex(m.Cookie))
	case kib.PutAck:
		o.put("cookie", hex(m.Cookie))
		o.put("dst_cookie", hex(m.DstCookie))
	case kib.PutNak, kib.PutDone, kib.GetDone:
		o.put("cookie", hex(m.Cookie))
		o.put("status", m.Status)
	}
	if n := m.Desc.Len(); n > 0 {
		var frags []object
		for i := range n {
			f := m.Desc.Frag(i)
			frags = append(frags, object{{"length", f.Length}, {"address", hex(f.Address)}})
		}
		o.put("rkey", hex(uint64(m.Desc.Key)))
		o.put("fragments", frags)
	}
	if t := x.Transfer; t != nil && (m.Type == kib.PutDone || m.Type == kib.GetDone) {
		o.put("rdma_writes", t.Writes)
		o.put("rdma_bytes", t.Bytes)
	}
	return o
}
