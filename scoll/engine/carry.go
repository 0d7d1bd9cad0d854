package engine

import (
	"cmp"
	"slices"

	"ulnet/scoll/wire"
)

// When a service failed, was silent or was aborted, the module answers in its place. It passes
// the answers of that service's children on, unaggregated, and the parent's service gets them
// as if they came from its own children. These are the carried answers. For them, inner members
// keep a copy of each answer that they get, up to the size that the parent accepts
// (RequestHeader.Carry): some KiB for a whole request. If answers do not fit, the trailer names
// their members with ELOST.

// makeRoom computes how many bytes of carried answers a reply of each inner child may have.
func (r *request) makeRoom() {
	inner := 0
	for i := range r.children {
		if r.children[i].Size > 1 {
			inner++
		}
	}
	r.room = uint16(min(int(r.header.Carry), maxRooms/max(inner, 1)))
}

// keep keeps a copy of an answer that the service of this member has got, if there is room.
func (r *request) keep(c wire.Carried, payload []byte) {
	switch {
	case r.root || r.header.Flags&wire.FlagModule != 0 || slices.Contains(r.lost, c.Rank):
	case len(payload) != int(c.Size), len(r.kept)+wire.CarriedHeaderSize+len(payload) > int(r.header.Carry):
		r.lose(c.Rank)
	default:
		r.kept = append(c.AppendTo(r.kept), payload...)
	}
}

// lose records that an answer will be lost if the service does not reply.
func (r *request) lose(rank uint32) {
	r.drop(func(c wire.Carried) bool { return c.Rank == rank })
	r.lost = append(r.lost, rank)
}

// forget discards the kept answers that came from a child, because they are replaced or not
// valid.
func (r *request) forget(c *child) {
	if len(r.kept) == 0 && len(r.lost) == 0 {
		return
	}
	isBelow := func(rank uint32) bool { return r.isBelow(int(rank), c.Rank) }
	r.drop(func(c wire.Carried) bool { return isBelow(c.Rank) })
	r.lost = slices.DeleteFunc(r.lost, isBelow)
}

// drop removes the kept messages for which f is true.
func (r *request) drop(f func(wire.Carried) bool) {
	left := r.kept[:0]
	for rest := r.kept; len(rest) > 0; {
		c, _, after, _ := wire.ParseCarried(rest)
		if size := len(rest) - len(after); !f(c) {
			left = append(left, rest[:size]...)
		}
		rest = after
	}
	r.kept = left
}

// appendKept appends the kept messages to the output, in the order of ranks and parts.
func (m *Machine) appendKept(r *request) Range {
	type message struct {
		wire.Carried
		bytes []byte
	}
	var list []message
	for rest := r.kept; len(rest) > 0; {
		c, _, after, _ := wire.ParseCarried(rest)
		list = append(list, message{c, rest[:len(rest)-len(after)]})
		rest = after
	}
	slices.SortFunc(list, func(a, b message) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Part, b.Part)) })
	m.stats.PassedOn += uint64(len(list))
	begin := len(m.out.Buf)
	for _, c := range list {
		m.out.Buf = append(m.out.Buf, c.bytes...)
	}
	return Range{begin, len(m.out.Buf)}
}

// nameLost adds to the trailer those members whose answers are lost and that it does not name yet.
func (r *request) nameLost() {
	if len(r.lost) == 0 {
		return
	}
	shape, named := r.shape(), r.named(r.trailer)
	var below []int
	for _, rank := range r.lost {
		below = shape.AppendSubtree(below[:0], int(rank))
		if !slices.ContainsFunc(below, func(rank int) bool { return named[rank] }) {
			r.trailer = append(r.trailer, wire.Missing{Rank: rank, Status: wire.ELOST, Scope: wire.Subtree})
			continue
		}
		for _, rank := range below {
			if !named[rank] {
				r.trailer = append(r.trailer, wire.Missing{Rank: uint32(rank), Status: wire.ELOST, Scope: wire.Node})
			}
		}
	}
	r.lost = r.lost[:0]
}

// named returns, by rank, which members a trailer names.
func (r *request) named(trailer []wire.Missing) []bool {
	set := make([]bool, r.roster.Len())
	var below []int
	for _, e := range trailer {
		if below = append(below[:0], int(e.Rank)); e.Scope == wire.Subtree {
			below = r.shape().AppendSubtree(below[:0], int(e.Rank))
		}
		for _, rank := range below {
			set[rank] = true
		}
	}
	return set
}

// spoken handles a reply that the module of a child sends in place of the child's service, and reports whether it is
// valid. It is valid if the trailer names the child, and the carried answers are those of members below the child.
// Then the carried answers replace the parts of the service's answer that have arrived: an answer without its last
// part does not count.
func (m *Machine) spoken(r *request, i int, h *wire.ReplyHeader, in *Input) bool {
	c, before := &r.children[i], len(r.trailer)
	if len(in.Carried) != int(h.Carried) || !m.merge(r, c, in.Trailer) {
		return false
	}
	trailer := r.trailer[before:]
	isOwn := func(e wire.Missing) bool { return int(e.Rank) == c.Rank && e.Scope == wire.Node }
	if !slices.ContainsFunc(trailer, isOwn) || !r.mayCarry(c, trailer, in.Carried) {
		r.trailer = r.trailer[:before]
		return false
	}
	r.forget(c)
	c.state, r.exposed = done, true
	r.pending--
	m.emit(Effect{Kind: DoUnpost, ID: r.id, Child: i})
	for rest := in.Carried; len(rest) > 0; {
		one, payload, after, _ := wire.ParseCarried(rest)
		r.keep(one, payload)
		m.report(r, i, Effect{
			Status: wire.OK, Rank: int(one.Rank), Passed: true, Part: uint32(one.Part), Final: one.Last,
			Length: uint64(one.Size), Data: m.appendBytes(payload),
		})
		rest = after
	}
	m.report(r, i, Effect{Status: h.Status, Rank: c.Rank, Collective: true, Final: true, Nodes: 1, Entities: len(r.roster.Target(c.Rank).Entities)})
	return true
}

// mayCarry reports whether the carried messages of a child are whole answers of members
// below the child, and no member is covered twice by answers and trailer.
func (r *request) mayCarry(c *child, trailer []wire.Missing, carried []byte) bool {
	if len(carried) == 0 {
		return true
	}
	shape, free := r.shape(), r.below(c.Rank)
	free[c.Rank] = false                                                // the child itself has not answered, so no answer of it can be carried
	isNode := func(e wire.Missing) bool { return e.Scope == wire.Node } // an entry about one member alone: members below it may have answered all the same
	named := r.named(slices.DeleteFunc(slices.Clone(trailer), isNode))
	before := wire.Carried{Last: true}
	var below []int
	for len(carried) > 0 {
		one, _, rest, err := wire.ParseCarried(carried)
		switch next := one.Rank == before.Rank && one.Part == before.Part+1; {
		case err != nil, before.Last && next, !before.Last && !next:
			return false
		case !next && (one.Part != 0 || int(one.Rank) >= shape.N || !free[one.Rank] || named[one.Rank]):
			return false
		case !next:
			below = shape.AppendSubtree(below[:0], int(one.Rank))
			for _, rank := range below {
				if !free[rank] {
					return false
				}
				free[rank] = false
			}
		}
		before, carried = one, rest
	}
	return before.Last
}
