package scoll

import (
	"encoding/binary"
	"slices"

	"ulnet/lnet/nid"
)

// StatusMap collects the members that failed, each with a status. Members that are not in it
// succeeded, so that most maps are empty (collectives design, Reply Aggregation). The zero
// value is ready.
//
//	PreRequest     post buffers of StatusSize times the nodes of each child
//	IncomingReply  m.Merge(reply)
//	PostReply      r.Reply(m.AppendBinary(nil)), or at the root m.Finish(r)
type StatusMap struct {
	failed []Unreached
}

// Add adds a member's status, unless it is OK.
func (m *StatusMap) Add(id nid.NID, s Status) {
	if s != OK {
		m.failed = append(m.failed, Unreached{id, s})
	}
}

// Merge adds a child's reply: its map or, for an error, all members that the error stands for
// (SC-69).
func (m *StatusMap) Merge(p *Reply) {
	if p.Status == OK {
		if m.parse(p.Payload) {
			return
		}
		p.Status = EPROTO
	}
	if p.Nodes == 1 {
		m.Add(p.From, p.Status)
		return
	}
	r := p.Request
	for _, rank := range r.tree.AppendSubtree(nil, r.children[p.Child].Rank) {
		m.Add(r.members.NID(rank), p.Status)
	}
}

// parse adds the entries of an encoded map, and reports whether they are valid.
func (m *StatusMap) parse(b []byte) bool {
	before := len(m.failed)
	for ; len(b) >= StatusSize; b = b[StatusSize:] {
		id, rest, err := nid.ParseExtended(b)
		s := Status(binary.LittleEndian.Uint16(rest))
		if err != nil || s == OK {
			break
		}
		m.Add(id, s)
	}
	if len(b) > 0 {
		m.failed = m.failed[:before]
	}
	return len(b) == 0
}

// AppendTo appends the encoded map.
func (m *StatusMap) AppendTo(b []byte) []byte {
	for _, f := range m.failed {
		b = f.NID.AppendExtended(b)
		b = binary.LittleEndian.AppendUint16(b, uint16(f.Status))
		b = append(b, 0, 0)
	}
	return b
}

// Finish returns, at the root in PostReply, all members that failed, once each and sorted by
// NID: those whose answer the module did not get, and those that reported a status. The former are
// complete even if a service on the way did not pass errors on.
func (m *StatusMap) Finish(r *Request) []Unreached {
	all := append(r.Unreached(), m.failed...)
	slices.SortStableFunc(all, func(a, b Unreached) int { return a.NID.Compare(b.NID) })
	return slices.CompactFunc(all, func(a, b Unreached) bool { return a.NID == b.NID })
}
