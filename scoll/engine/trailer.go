package engine

import (
	"slices"

	"ulnet/scoll/wire"
)

// miss records that a child and all members below it are missing. It replaces the entries that
// came with the child's trailer, because the last part of the child's answer may have arrived
// without an earlier one.
func (r *request) miss(c *child, s wire.Status) {
	r.forget(c)
	if c.last >= 0 {
		isBelow := func(rank int) bool { return r.isBelow(rank, c.Rank) }
		if len(r.trailer) > fewEntries {
			set := r.below(c.Rank)
			isBelow = func(rank int) bool { return set[rank] }
		}
		r.trailer = slices.DeleteFunc(r.trailer, func(e wire.Missing) bool { return isBelow(int(e.Rank)) })
	}
	r.trailer = append(r.trailer, wire.Missing{Rank: uint32(c.Rank), Status: s, Scope: wire.Subtree})
}

// MaxTrailer is the longest trailer, in entries. With more, the whole subtree counts as
// missing.
const MaxTrailer = 32768

// fewEntries is the length up to which the entries of a trailer are compared with each other.
// For a longer trailer the members are recorded in a list, so that none is in the trailer
// twice.
const fewEntries = 64

// merge appends a child's trailer to this node's, if all entries are about the child's subtree, and reports whether it
// did. In a long trailer no two entries may be about the same member.
func (m *Machine) merge(r *request, c *child, trailer []byte) bool {
	before := len(r.trailer)
	claim := func(e wire.Missing) bool { return r.isBelow(int(e.Rank), c.Rank) }
	if len(trailer) > fewEntries*wire.TrailerEntrySize {
		claim = r.claims(c)
	}
	for len(trailer) > 0 {
		e, rest, err := wire.ParseMissing(trailer)
		if err != nil || len(r.trailer)-before == c.Size || !claim(e) {
			r.trailer = r.trailer[:before]
			return false
		}
		r.trailer = append(r.trailer, e)
		trailer = rest
	}
	return true
}

// claims returns a function that checks the entries of a trailer, one per call. The function reports whether an entry
// is about members of a child's subtree, and whether none of these members was in an earlier entry.
func (r *request) claims(c *child) func(wire.Missing) bool {
	shape, free := r.shape(), r.below(c.Rank)
	var below []int
	return func(e wire.Missing) bool {
		if below = below[:0]; int(e.Rank) < shape.N && free[e.Rank] {
			below = append(below, int(e.Rank))
		}
		if e.Scope == wire.Subtree && len(below) > 0 {
			below = shape.AppendSubtree(below[:0], int(e.Rank))
		}
		for _, rank := range below {
			if !free[rank] {
				return false
			}
			free[rank] = false
		}
		return len(below) > 0
	}
}

// below returns, by rank, which members are in the subtree of top.
func (r *request) below(top int) []bool {
	set := make([]bool, r.roster.Len())
	for _, rank := range r.shape().AppendSubtree(nil, top) {
		set[rank] = true
	}
	return set
}

// isBelow reports whether a rank is in the subtree of top.
func (r *request) isBelow(rank, top int) bool {
	shape := r.shape()
	if rank >= shape.N {
		return false
	}
	for rank != top {
		parent, ok := shape.Parent(rank)
		if !ok {
			return false
		}
		rank = parent
	}
	return true
}

// nameOnce removes duplicates from a trailer that has more entries than there are members,
// because children may send anything.
func (r *request) nameOnce() {
	if len(r.trailer) <= r.shape().Size(r.rank) {
		return
	}
	named := make([]bool, r.roster.Len())
	var once []wire.Missing
	r.eachMissing(named, func(e wire.Missing) { once = append(once, e) })
	r.trailer = once
}

// eachMissing calls f for every missing member, once.
func (r *request) eachMissing(named []bool, f func(wire.Missing)) {
	var ranks []int
	for _, e := range r.trailer {
		if ranks = append(ranks[:0], int(e.Rank)); e.Scope == wire.Subtree {
			ranks = r.shape().AppendSubtree(ranks[:0], int(e.Rank))
		}
		for _, rank := range ranks {
			if !named[rank] {
				named[rank] = true
				f(wire.Missing{Rank: uint32(rank), Status: e.Status, Scope: wire.Node})
			}
		}
	}
}

// appendMissing appends every missing member to the output, once.
func (m *Machine) appendMissing(r *request) Range {
	begin := len(m.out.Missing)
	if len(r.trailer) == 0 {
		return Range{begin, begin}
	}
	r.eachMissing(make([]bool, r.roster.Len()), func(e wire.Missing) { m.out.Missing = append(m.out.Missing, e) })
	return Range{begin, len(m.out.Missing)}
}
