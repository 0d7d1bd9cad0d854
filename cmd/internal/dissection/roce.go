package dissection

import (
	"fmt"
	"strings"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// quiet reports whether a RoCE packet is shown only with an option, because the message that the
// packet completes is a record of its own. Packets that report errors are always shown.
func quiet(r *capture.Record) bool {
	return r.Kind == capture.RocePacket && r.Err == nil && (r.RoCE.Packet.OpCode != ibta.Acknowledge || r.RoCE.Packet.AETH.Syndrome.IsAck())
}

// describePacket appends a RoCE packet as text.
func describePacket(b *strings.Builder, p *ibta.Packet) {
	fmt.Fprintf(b, "%v to QP %#x, PSN %#x", p.OpCode, uint32(p.DestQP), uint32(p.PSN))
	switch {
	case p.OpCode == ibta.Acknowledge:
		fmt.Fprintf(b, ": %v, %d messages done", p.AETH.Syndrome, p.AETH.MSN)
	case p.OpCode.IsWrite() && p.OpCode.IsFirst():
		fmt.Fprintf(b, ": %d of %d bytes to %#x, rkey %#x", len(p.Payload), p.RETH.Length, p.RETH.Address, uint32(p.RETH.RKey))
	default:
		fmt.Fprintf(b, ", %d bytes", len(p.Payload))
	}
	if p.AckReq {
		b.WriteString(", asks for an ACK")
	}
}

// describeCM appends a message of the connection manager as text.
func describeCM(b *strings.Builder, r *capture.RoCE) {
	c := &r.CM
	fmt.Fprintf(b, "CM %v", c.MAD.Attribute)
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		if _, port, ok := c.REQ.ServiceID.Port(); ok {
			fmt.Fprintf(b, " from port %d to port %d", c.IP.SrcPort, port)
		} else {
			fmt.Fprintf(b, " for service %#x", uint64(c.REQ.ServiceID))
		}
		fmt.Fprintf(b, ", QP %#x", uint32(c.REQ.QPN))
	case ibta.AttrREP:
		fmt.Fprintf(b, ", QP %#x", uint32(c.REP.QPN))
	case ibta.AttrREJ:
		fmt.Fprintf(b, ": %v", c.REJ.Reason)
	}
	if r.HasMsg {
		describeConnect(b, &r.Msg)
	}
	if j := &r.Reject; r.HasReject {
		fmt.Fprintf(b, ": %v", j.Why)
		if j.Complete && j.Params.QueueDepth > 0 {
			fmt.Fprintf(b, ", would take queue depth %d, %d fragments", j.Params.QueueDepth, j.Params.MaxFrags)
		}
	}
}

// describeConnect appends the parameters that o2iblnd exchanges for a connection.
func describeConnect(b *strings.Builder, m *kib.Msg) {
	if !m.Version.IsValid() {
		fmt.Fprintf(b, ": o2iblnd, %v", m.Version)
		return
	}
	fmt.Fprintf(b, ": %v %v", m.Type, m.Version)
	if m.SrcNID.IsValid() {
		fmt.Fprintf(b, " from %v to %v, queue depth %d, %d fragments", m.SrcNID, m.DstNID, m.Params.QueueDepth, m.Params.MaxFrags)
	}
}

// describeExchange appends, as text, a message of o2iblnd that has no LNet header.
func describeExchange(b *strings.Builder, r *Shown) {
	m, t := &r.RoCE.Msg, r.RoCE.Transfer
	b.WriteString(m.Type.String())
	switch {
	case m.Type == kib.Noop:
	case m.Type == kib.PutAck:
		fmt.Fprintf(b, ": %d bytes into %s", m.Desc.Total(), fragments(&m.Desc))
	case m.Status < 0:
		fmt.Fprintf(b, ": failed with errno %d", -int64(m.Status))
	case m.Type == kib.PutNak:
		b.WriteString(": nobody takes it")
	case t == nil:
		fmt.Fprintf(b, " of %d bytes", m.Status)
	default:
		fmt.Fprintf(b, " of %d bytes by %s", m.Status, cli.Count(t.Writes, "RDMA WRITE", "RDMA WRITEs"))
	}
	if moved, ok := r.Moved(); ok {
		b.WriteString(": ")
		describeMessage(b, &Shown{moved, r.said})
		if moved.Missing > 0 {
			fmt.Fprintf(b, ", %d bytes of it missing", moved.Missing)
		}
	}
}

// describeKib appends the use of RDMA, the credits and the checksum from the header of
// o2iblnd.
func describeKib(b *strings.Builder, r *capture.Record) {
	if r.RoCE == nil || r.Kind != capture.Message && r.Kind != capture.Exchange {
		return
	}
	m := &r.RoCE.Msg
	switch m.Type {
	case kib.PutReq:
		b.WriteString(", payload by RDMA")
	case kib.GetReq:
		fmt.Fprintf(b, ", answer by RDMA into %s", fragments(&m.Desc))
	}
	if m.Credits > 0 {
		fmt.Fprintf(b, ", returns %s", cli.Count(int(m.Credits), "credit", "credits"))
	}
	if r.Checksum == capture.ChecksumBad {
		b.WriteString(", checksum is wrong")
	}
}

func fragments(d *kib.Desc) string { return cli.Count(d.Len(), "fragment", "fragments") }

// roceDetails prints the fields of the RoCE headers and of the message that they carry.
func roceDetails(line liner, r *Shown) {
	p := &r.RoCE.Packet
	switch r.Kind {
	case capture.RocePacket:
		line("bth: opcode %#02x %v, dest QP %#x, PSN %#x, ack requested %v, P_Key %#x, pad %d",
			uint8(p.OpCode), p.OpCode, uint32(p.DestQP), uint32(p.PSN), p.AckReq, uint16(p.PKey), p.Pad)
		if p.OpCode.IsUD() {
			line("deth: Q_Key %#x, source QP %#x", uint32(p.DETH.QKey), uint32(p.DETH.SrcQP))
		}
	case capture.CMMessage:
		cmDetails(line, &r.RoCE.CM)
		if r.RoCE.HasMsg {
			kibDetails(line, &r.RoCE.Msg)
		}
		if j := &r.RoCE.Reject; r.RoCE.HasReject {
			line("o2iblnd reject: %v, %v, incarnation %d, %s", j.Version, j.Why, j.Stamp, orderName(j.BigEndian))
		}
	case capture.Message:
		kibDetails(line, &r.RoCE.Msg)
		messageDetails(line, r)
	case capture.Exchange:
		kibDetails(line, &r.RoCE.Msg)
		if m, ok := r.Moved(); ok {
			messageDetails(line, &Shown{m, r.said})
		}
	}
}

func kibDetails(line liner, m *kib.Msg) {
	line("o2iblnd: %v %v, credits %d, nob %d, checksum %#x, %s", m.Version, m.Type, m.Credits, m.Nob, m.Checksum, orderName(m.BigEndian))
	line("o2iblnd: src NID %v, incarnation %d; dst NID %v, incarnation %d", m.SrcNID, m.SrcStamp, m.DstNID, m.DstStamp)
	switch m.Type {
	case kib.ConnReq, kib.ConnAck:
		line("o2iblnd: queue depth %d, max frags %d, max message size %d", m.Params.QueueDepth, m.Params.MaxFrags, m.Params.MaxMsgSize)
	case kib.PutReq:
		line("o2iblnd: cookie %#x", m.Cookie)
	case kib.PutAck, kib.GetReq:
		line("o2iblnd: cookie %#x, %#x, rkey %#x", m.Cookie, m.DstCookie, m.Desc.Key)
		for i := range m.Desc.Len() {
			f := m.Desc.Frag(i)
			line("o2iblnd: fragment %d: %d bytes at %#x", i, f.Length, f.Address)
		}
	case kib.PutNak, kib.PutDone, kib.GetDone:
		line("o2iblnd: cookie %#x, status %d", m.Cookie, m.Status)
	}
}

func cmDetails(line liner, c *capture.CM) {
	line("cm: %v, transaction %#x, status %d", c.MAD.Attribute, c.MAD.TransactionID, c.MAD.Status)
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		q := &c.REQ
		line("cm: local id %#x, service %#x, CA %#x, QP %#x, starting PSN %#x, MTU %d", uint32(q.LocalID), uint64(q.ServiceID), uint64(q.LocalGUID), uint32(q.QPN), uint32(q.StartingPSN), q.MTU.Bytes())
		line("cm: retries %d, RNR retries %d, CM retries %d, ACK timeout %v, CM timeouts %v and %v, flow control %v", q.RetryCount, q.RNRRetryCount, q.MaxCMRetries,
			ibta.AckTimeout(q.Primary.AckTimeout), ibta.CMTimeout(q.LocalTimeout), ibta.CMTimeout(q.RemoteTimeout), q.FlowControl)
		line("cm: path %v to %v, flow label %#x, traffic class %#x, hop limit %d", q.Primary.LocalGID, q.Primary.RemoteGID, q.Primary.FlowLabel, q.Primary.TrafficClass, q.Primary.HopLimit)
		line("rdma-cm: from %v port %d to %v", c.IP.Src, c.IP.SrcPort, c.IP.Dst)
	case ibta.AttrREP:
		q := &c.REP
		line("cm: local id %#x, remote id %#x, CA %#x, QP %#x, starting PSN %#x, RNR retries %d", uint32(q.LocalID), uint32(q.RemoteID), uint64(q.LocalGUID), uint32(q.QPN), uint32(q.StartingPSN), q.RNRRetryCount)
	case ibta.AttrREJ:
		line("cm: local id %#x, remote id %#x, message %d, reason %d %v", uint32(c.REJ.LocalID), uint32(c.REJ.RemoteID), c.REJ.Rejected, uint16(c.REJ.Reason), c.REJ.Reason)
	case ibta.AttrMRA:
		line("cm: local id %#x, remote id %#x, service timeout %v", uint32(c.MRA.LocalID), uint32(c.MRA.RemoteID), ibta.CMTimeout(c.MRA.ServiceTimeout))
	case ibta.AttrRTU:
		line("cm: local id %#x, remote id %#x", uint32(c.RTU.LocalID), uint32(c.RTU.RemoteID))
	case ibta.AttrDREQ:
		line("cm: local id %#x, remote id %#x, remote QP %#x", uint32(c.DREQ.LocalID), uint32(c.DREQ.RemoteID), uint32(c.DREQ.RemoteQPN))
	case ibta.AttrDREP:
		line("cm: local id %#x, remote id %#x", uint32(c.DREP.LocalID), uint32(c.DREP.RemoteID))
	}
}
