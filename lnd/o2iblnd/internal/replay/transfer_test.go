package replay

import (
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// transfer is payload that is sent by RDMA WRITE, with the indexes of its packets in the
// script; -1 for a packet that is not there.
type transfer struct {
	request, ack, first, done int
	writes                    []int // the RDMA WRITEs
	data                      []byte
}

// transfers returns the transfers by the index of their request.
func (s *Script) transfers() map[int]*transfer {
	type name struct {
		sender string // node that sent the request or PUT_ACK
		cookie uint64
	}
	all := map[int]*transfer{}
	asked, granted := map[name]*transfer{}, map[name]*transfer{}
	keys := map[uint32]*transfer{}
	var writing *transfer
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.OpCode.IsWrite() {
			if p.OpCode.IsFirst() {
				writing = keys[uint32(p.RETH.RKey)]
			}
			if writing != nil {
				writing.write(i, p.Payload)
			}
			continue
		}
		if p.Msg == nil {
			continue
		}
		from, to := p.From.Addr().String(), p.To.Addr().String()
		switch m := p.Msg; m.Type {
		case kib.PutReq, kib.GetReq:
			t := &transfer{request: i, ack: -1, first: -1, done: -1}
			all[i], asked[name{from, m.Cookie}] = t, t
			if m.Type == kib.GetReq {
				keys[m.Desc.Key] = t
			}
		case kib.PutAck:
			if t := asked[name{to, m.Cookie}]; t != nil {
				t.ack, granted[name{from, m.DstCookie}], keys[m.Desc.Key] = i, t, t
			}
		case kib.PutNak, kib.GetDone:
			if t := asked[name{to, m.Cookie}]; t != nil {
				t.finish(i)
			}
		case kib.PutDone:
			if t := granted[name{to, m.Cookie}]; t != nil {
				t.finish(i)
			}
		}
	}
	return all
}

func (t *transfer) write(i int, b []byte) {
	if t.first < 0 {
		t.first = i
	}
	t.writes = append(t.writes, i)
	t.data = append(t.data, b...)
}

func (t *transfer) finish(i int) {
	t.done = i
	if t.first < 0 {
		t.first = i
	}
}

// Part is the place of a WRITE packet's bytes in a transfer.
type Part struct {
	Bits   uint64 // match bits of the PUT or GET
	Offset int    // number of bytes of the transfer before those of the packet
}

// Parts returns the places of all WRITE packets, by their frames.
func (s *Script) Parts() map[int]Part {
	all := map[int]Part{}
	for _, t := range s.transfers() {
		head := &s.Packets[t.request].Msg.LNet
		p := Part{Bits: head.Put().MatchBits}
		if head.Type == wire.Get {
			p.Bits = head.Get().MatchBits
		}
		for _, i := range t.writes {
			all[s.Packets[i].Frame] = p
			p.Offset += len(s.Packets[i].Payload)
		}
	}
	return all
}

// target is where the data of a WRITE packet belongs.
type target struct {
	key     ibta.RKey
	address uint64
}

// follower computes where the WRITE packets of one flow go. It is given the packets in order.
type follower struct {
	at   target
	left uint32 // bytes of the message that are still to come
}

// follow returns where the data of a packet belongs, and whether the packet fits the WRITE
// that it is part of.
func (f *follower) follow(p *ibta.Packet) (target, bool) {
	if p.OpCode.IsFirst() {
		f.at, f.left = target{p.RETH.RKey, p.RETH.Address}, p.RETH.Length
	}
	n, at := uint32(len(p.Payload)), f.at
	fits := n <= f.left && p.OpCode.IsLast() == (n == f.left)
	f.at.address += uint64(n)
	f.left -= min(n, f.left)
	return at, fits
}
