package replay

import (
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// OpKind is the kind of an operation of a node.
type OpKind uint8

// The kinds of operations.
const (
	SendMessage OpKind = iota // LNet sends a message
	Disconnect                // the node ends the connection
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
	// ByGet says that the message is a REPLY that was not sent itself: the data written for a
	// GET_REQ stand for it.
	ByGet bool
}

// Operations returns what a node does of itself, in order. A message that waits for a connection
// begins with the first REQ of the connection.
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
