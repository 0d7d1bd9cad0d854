package capture

import (
	"errors"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
)

// cm processes a message of the connection manager.
func (r *roce) cm(f *roceFrame) {
	m, err := ibta.ParseCM(f.Payload)
	if err != nil && m.MAD == (ibta.MAD{}) || errors.Is(err, ibta.ErrAttribute) {
		c, side := r.find(f)
		r.emitPacket(c, side, f)
		rec := r.record(c, side, Unknown, f)
		rec.Raw, rec.Length, rec.Err = f.Payload, uint64(len(f.Payload)), err
		r.d.deliver(rec)
		return
	}
	c, side := r.findCM(f, &m)
	r.learn(c, side, f, &m)
	r.emitPacket(c, side, f)
	rec := r.record(c, side, CMMessage, f)
	rec.Raw, rec.Length, rec.RoCE.CM = f.Payload[:ibta.MADSize], ibta.MADSize, CM{CM: m}
	switch m.MAD.Attribute {
	case ibta.AttrREQ:
		var user []byte
		if rec.RoCE.CM.IP, user, rec.Err = ibta.ParseIPCM(m.REQ.Private); rec.Err != nil {
			user = m.REQ.Private[ibta.IPCMSize:] // o2iblnd's message follows the IP addresses, even if these are not valid
		}
		rec.private(user)
	case ibta.AttrREP:
		rec.private(m.REP.Private)
	case ibta.AttrREJ:
		if reject, err := kib.ParseReject(m.REJ.Private); m.REJ.Reason == ibta.RejectConsumer && err == nil {
			rec.RoCE.Reject, rec.RoCE.HasReject = reject, true
		}
	}
	c.learnNIDs(rec)
	r.d.deliver(rec)
	switch m.MAD.Attribute {
	case ibta.AttrREJ:
		r.end(c, ErrRejected)
	case ibta.AttrDREP:
		r.end(c, nil)
	}
}

// ErrRejected says that a connection was refused.
var ErrRejected = errors.New("connection was refused")

// private parses o2iblnd's message in the private data of a REQ or REP. Programs other than o2iblnd
// connect, too; their private data is something else.
func (r *Record) private(b []byte) {
	m, err := kib.ParseMsg(b)
	if errors.Is(err, kib.ErrMagic) || errors.Is(err, kib.ErrShort) {
		return
	}
	r.RoCE.Msg, r.RoCE.HasMsg = m, true
	if r.Err == nil {
		r.Err = err
	}
}

// findCM returns the connection that a CM message is about.
func (r *roce) findCM(f *roceFrame, m *ibta.CM) (*roceConn, Side) {
	local, remote := m.IDs()
	here, there := commEnd{f.src, f.dst, local}, commEnd{f.dst, f.src, remote}
	c := r.byID[here]
	if m.MAD.Attribute == ibta.AttrREQ {
		if c == nil || c.closed || c.QPs[Initiator] != uint32(m.REQ.QPN) {
			c = r.open(f.src, f.dst, f.at)
			r.identify(c, Initiator, here)
		}
		return c, Initiator
	}
	if to := r.byID[there]; remote != 0 && to != nil {
		c = to
	}
	if c == nil && m.MAD.Attribute == ibta.AttrDREQ {
		c = r.byQP[qpEnd{f.src, f.dst, m.DREQ.RemoteQPN}]
	}
	if c == nil {
		c = r.open(f.src, f.dst, f.at)
		r.identify(c, Acceptor, there)
		r.midStream(c)
	}
	r.conns.MoveToBack(c.age)
	side := Initiator
	if c.ids[Initiator] == there && remote != 0 || local != 0 && c.ids[Acceptor] == here || c.ids[Initiator] != here && c.Ends[Initiator].Addr() != f.src {
		side = Acceptor
	}
	r.identify(c, side, here)
	return c, side
}

// learn takes queue pairs and PSNs from a REQ or REP.
func (r *roce) learn(c *roceConn, side Side, f *roceFrame, m *ibta.CM) {
	var qp ibta.QPN
	var psn ibta.PSN
	switch m.MAD.Attribute {
	case ibta.AttrREQ:
		qp, psn = m.REQ.QPN, m.REQ.StartingPSN
	case ibta.AttrREP:
		qp, psn = m.REP.QPN, m.REP.StartingPSN
	default:
		return
	}
	end := qpEnd{f.dst, f.src, qp}
	if c.qps[side] == end {
		return // a repetition of an earlier message
	}
	r.name(c, side, end)
	if fl := c.flows[side.Other()]; !fl.known {
		fl.known, fl.next = true, psn
	}
}

// learnNIDs notes the NIDs that the sides give themselves.
func (c *roceConn) learnNIDs(r *Record) {
	if n := r.RoCE.Msg.SrcNID; r.RoCE.HasMsg && n.IsValid() && !n.IsAny() {
		c.NIDs[r.From] = n
	}
	if n := r.RoCE.Msg.DstNID; r.RoCE.HasMsg && c.NIDs[r.From.Other()] == (nid.NID{}) {
		c.NIDs[r.From.Other()] = n
	}
}
