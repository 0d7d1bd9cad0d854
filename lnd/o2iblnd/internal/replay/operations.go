package replay

import (
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// OpKind is what somebody at a node does.
type OpKind uint8

// The kinds of operations.
const (
	SendMessage OpKind = iota // LNet sends a message
	Disconnect                // the connection is ended
)

// Op is something that a node does of itself, and not because of a packet.
type Op struct {
	Kind OpKind
	At   int // place in the script of the first packet that it makes the node send
	// Header and Payload are the message. A REPLY that a GET_DONE stands for has the
	// header that LNet makes for it.
	Header  wire.Header
	Payload []byte
}

// Delivery is an LNet message that reaches a node.
type Delivery struct {
	Header  wire.Header
	Payload []byte
	// ByGet says that it is the REPLY that the data of a GET_REQ stand for.
	ByGet bool
}

// Operations returns what a node does of itself, in order. A message that waits for
// a connection begins with its first REQ.
func (s *Script) Operations(node netip.Addr) (ops []Op) {
	moved := s.transfers()
	answers := map[int]int{} // first packet of an answer by RDMA → its GET_REQ
	for at, t := range moved {
		if s.Packets[at].Msg.Type == kib.GetReq && t.done >= 0 {
			answers[t.first] = at
		}
	}
	asking := -1
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.From.Addr() != node {
			continue
		}
		if at, ok := answers[i]; ok {
			ops = append(ops, Op{At: i, Header: replyTo(s.Packets[at].Msg, len(moved[at].data)), Payload: moved[at].data})
			continue
		}
		switch {
		case p.CM != nil && p.CM.MAD.Attribute == ibta.AttrREQ && asking < 0:
			asking = i
		case p.CM != nil && p.CM.MAD.Attribute == ibta.AttrDREQ:
			ops = append(ops, Op{Kind: Disconnect, At: i})
		case p.Msg != nil && p.Msg.Type.HasLNet():
			op := Op{At: i, Header: p.Msg.LNet, Payload: p.Msg.Payload}
			if t := moved[i]; t != nil && p.Msg.Type == kib.PutReq {
				op.Payload = t.data
			}
			if asking >= 0 {
				op.At, asking = asking, -1
			}
			ops = append(ops, op)
		}
	}
	return ops
}

// Deliveries returns the messages that reach a node, in the order in which they
// are complete.
func (s *Script) Deliveries(node netip.Addr) (list []Delivery) {
	done := map[int]*transfer{}
	for _, t := range s.transfers() {
		if t.done >= 0 {
			done[t.done] = t
		}
	}
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.From.Addr() == node || p.Msg == nil {
			continue
		}
		m := p.Msg
		switch m.Type {
		case kib.Immediate, kib.GetReq:
			list = append(list, Delivery{Header: m.LNet, Payload: m.Payload})
		case kib.PutDone, kib.GetDone:
			t := done[i]
			if t == nil || m.Status < 0 {
				continue
			}
			d := Delivery{Header: s.Packets[t.request].Msg.LNet, Payload: t.data}
			if m.Type == kib.GetDone {
				d.Header, d.ByGet = replyTo(s.Packets[t.request].Msg, len(t.data)), true
			}
			list = append(list, d)
		}
	}
	return list
}

// replyTo returns the header of the REPLY to a GET.
func replyTo(get *kib.Msg, n int) wire.Header {
	g := get.LNet
	h := wire.Header{DestNID: g.SrcNID, SrcNID: g.DestNID, DestPID: g.SrcPID, SrcPID: g.DestPID, PayloadLength: uint32(n)}
	h.SetReply(wire.ReplyCmd{DstMD: g.Get().ReturnMD})
	return h
}

// Numbers are the numbers that a recorded node chose, in the order in which it used
// them for the first time.
type Numbers struct {
	Stamp   uint64 // incarnation
	GUID    ibta.GUID
	CommIDs []ibta.CommID
	QPNs    []ibta.QPN
	PSNs    []ibta.PSN // that its peers begin with
	RKeys   []ibta.RKey
	IOVAs   []uint64
	Cookies []uint64
}

// Numbers returns the numbers of a node.
func (s *Script) Numbers(node netip.Addr) (n Numbers) {
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.From.Addr() != node {
			continue
		}
		if c := p.CM; c != nil {
			n.connection(c)
		}
		m := p.Msg
		if m == nil {
			continue
		}
		n.Stamp = m.SrcStamp
		switch m.Type {
		case kib.PutReq, kib.GetReq:
			n.Cookies = append(n.Cookies, m.Cookie)
		case kib.PutAck:
			n.Cookies = append(n.Cookies, m.DstCookie)
		}
		if m.Type == kib.PutAck || m.Type == kib.GetReq {
			n.RKeys = append(n.RKeys, ibta.RKey(m.Desc.Key))
			n.IOVAs = append(n.IOVAs, m.Desc.Frag(0).Address)
		}
	}
	return n
}

// connection takes the numbers of a REQ or REP.
func (n *Numbers) connection(c *CM) {
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		n.CommIDs = append(n.CommIDs, c.REQ.LocalID)
		n.QPNs, n.PSNs, n.GUID = append(n.QPNs, c.REQ.QPN), append(n.PSNs, c.REQ.StartingPSN), c.REQ.LocalGUID
	case ibta.AttrREP:
		n.CommIDs = append(n.CommIDs, c.REP.LocalID)
		n.QPNs, n.PSNs, n.GUID = append(n.QPNs, c.REP.QPN), append(n.PSNs, c.REP.StartingPSN), c.REP.LocalGUID
	}
	if c.Msg != nil {
		n.Stamp = c.Msg.SrcStamp
	}
	if c.Reject != nil && c.Reject.Stamp != 0 {
		n.Stamp = c.Reject.Stamp
	}
}
