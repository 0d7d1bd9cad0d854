package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// refuse answers a request with an error of the module for the whole subtree of this node
// (SC-61, SC-A19).
func (m *Machine) refuse(to nid.NID, h *wire.RequestHeader, s wire.Status, nodes, entities int) {
	reply := wire.ReplyHeader{
		RootIncarnation: h.RootIncarnation, Sequence: h.Sequence, Flags: wire.ReplyLast | wire.ReplyCollective,
		Status: s, Nodes: uint32(nodes), Entities: uint32(entities),
	}
	if m.cfg.Signed {
		reply.Flags |= wire.ReplySigned
	}
	begin := len(m.out.Buf)
	m.out.Buf = reply.AppendTo(m.out.Buf)
	m.emit(Effect{Kind: DoRefuse, To: to, Stranger: m.isStranger(to), Bits: h.ReplyBits, Data: Range{begin, len(m.out.Buf)}})
}

// refuseFor answers a request with an error unless it was answered before. The request does not
// end.
func (m *Machine) refuseFor(r *request, s wire.Status) {
	if r.answered {
		return
	}
	r.answered, r.refused = true, true
	nodes, entities := 0, 0
	if r.group != nil {
		nodes, entities = r.shape().Size(r.rank), r.roster.EntitiesBelow(r.shape(), r.rank)
	}
	m.refuse(r.parent, &r.header, s, nodes, entities)
}

// reject answers a request with an error and ends it.
func (m *Machine) reject(r *request, s wire.Status) {
	m.refuseFor(r, s)
	m.discard(r)
}

// discard removes a request of another node without an answer.
func (m *Machine) discard(r *request) {
	m.forgetOrigin(r)
	m.unlist(r)
	if r.group != nil {
		m.release(r.group, r.header.Flags&wire.FlagLast != 0)
	}
	if r.group != nil || r.fetches {
		m.emit(Effect{Kind: DoFree, ID: r.id})
	}
	m.freeSlot(r)
	m.requests.drop(r)
}

// unregister removes a service, and refuses the requests of other nodes for it that wait (SC-12).
func (m *Machine) unregister(id wire.ServiceID) {
	delete(m.services, id)
	m.unpin(id)
	for _, r := range m.requests.slots {
		waits := r.phase == mapping || r.phase == listing || r.phase == held
		if h := &r.header; waits && !r.root && h.Service == id && !destroys(h) {
			m.stats.NoService++
			m.reject(r, wire.ENOSERVICE)
		}
	}
}

// destroys reports whether a request destroys its group, for which no service is needed.
func destroys(h *wire.RequestHeader) bool {
	return h.Flags&(wire.FlagModule|wire.FlagLast) == wire.FlagModule|wire.FlagLast
}
