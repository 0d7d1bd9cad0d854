package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// refuse answers a request with an error of the module, which speaks for the
// whole subtree of this node (SC-61, SC-A19).
func (m *Machine) refuse(to nid.NID, h *RequestHeader, s Status, nodes, entities int) {
	reply := ReplyHeader{
		RootIncarnation: h.RootIncarnation, Sequence: h.Sequence, Flags: ReplyLast | ReplyCollective,
		Status: s, Nodes: uint32(nodes), Entities: uint32(entities),
	}
	if m.cfg.Signed {
		reply.Flags |= ReplySigned
	}
	begin := len(m.out.Buf)
	m.out.Buf = reply.AppendBinary(m.out.Buf)
	m.emit(Effect{Kind: DoRefuse, To: to, Bits: h.ReplyBits, Data: Range{begin, len(m.out.Buf)}})
}

// refuseFor answers for a request that goes on here, unless it was answered.
func (m *Machine) refuseFor(r *request, s Status) {
	if r.answered {
		return
	}
	r.answered, r.refused = true, true
	nodes, entities := 0, 0
	if r.group != nil {
		nodes, entities = r.shape().Size(r.rank), r.entities(r.rank)
	}
	m.refuse(r.parent, &r.header, s, nodes, entities)
}

// reject answers a request with an error and ends it.
func (m *Machine) reject(r *request, s Status) {
	m.refuseFor(r, s)
	m.discard(r)
}

// discard ends a request of others.
func (m *Machine) discard(r *request) {
	m.forgetOrigin(r)
	m.unlist(r)
	if r.group != nil {
		m.release(r.group, r.header.Flags&FlagLast != 0)
	}
	if r.group != nil || r.fetches {
		m.emit(Effect{Kind: DoFree, ID: r.id})
	}
	m.vacate(r)
	m.requests.drop(r)
}

// entities counts those on the nodes of a subtree.
func (r *request) entities(rank int) int {
	if r.roster.Entities() == r.roster.Len() {
		return r.shape().Size(rank)
	}
	return entitiesIn(r.roster, r.shape(), rank)
}

func entitiesIn(members *Membership, shape tree.Tree, rank int) (n int) {
	for _, below := range shape.AppendSubtree(nil, rank) {
		n += len(members.Target(below).Entities)
	}
	return n
}
