package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
	"ulnet/scoll/tree"
)

// peer is a present or former member. The rosters of all versions share one value for each
// member.
type peer struct {
	id     wire.ID
	dead   bool // the member failed, was expelled, or has left for good
	silent bool // the member counts as failed because it was silent, and may be alive
	stream *stream
}

// roster is the list of members of one version, from which all members compute the same trees
// (RM-11).
type roster struct {
	version  wire.Version
	peers    []*peer // members by communication number: the index is the rank (RM-A2)
	numbers  []uint32
	byNID    map[nid.NID]int32
	byNumber map[uint32]int32
	self     int // rank of this node; -1: it is not a member
	window   int
	fragment int
	capacity int
	tree     bool
	failed   int    // number of failed members
	voters   uint32 // number of voters, see wire.Order; reported to a new manager
	of       uint16
	silent   []wire.ID
}

// shape is the tree of one origin's messages (RM-10, RM-A1).
func (r *roster) shape(root int) tree.Tree {
	return tree.Tree{Topology: tree.KNomial(2), N: len(r.peers), Root: root}
}

// rankOf returns the rank of a node, or -1.
func (r *roster) rankOf(id nid.NID) int {
	if i, ok := r.byNID[id]; ok {
		return int(i)
	}
	return -1
}

// numbered returns the rank of a communication number, or -1.
func (r *roster) numbered(number uint32) int {
	if i, ok := r.byNumber[number]; ok {
		return int(i)
	}
	return -1
}

// has reports whether a peer is on the list.
func (r *roster) has(p *peer) bool {
	rank := r.rankOf(p.id.NID)
	return rank >= 0 && r.peers[rank] == p
}

// members lists the members in the order of their numbers.
func (r *roster) members() []wire.Member {
	list := make([]wire.Member, len(r.peers))
	for i, p := range r.peers {
		list[i] = wire.Member{ID: p.id, Number: r.numbers[i]}
	}
	return list
}

// number is the communication number at a rank.
func (r *roster) number(rank int) uint32 { return r.numbers[rank] }

// maxMessage is the size of the longest message in bytes: one window.
func (r *roster) maxMessage() int { return r.window * r.fragment }

// membership has the lists that a member knows.
type membership struct {
	byID    map[wire.ID]*peer
	rosters []*roster // rosters in the order of their versions
}

// get returns the roster of a version, or nil if it is not known.
func (g *membership) get(v wire.Version) *roster {
	for i := len(g.rosters) - 1; i >= 0; i-- {
		if g.rosters[i].version == v {
			return g.rosters[i]
		}
	}
	return nil
}

// latest returns the newest known roster, or nil.
func (g *membership) latest() *roster {
	if len(g.rosters) == 0 {
		return nil
	}
	return g.rosters[len(g.rosters)-1]
}

// add makes a roster of a list and appends it.
func (g *membership) add(o *wire.Order, self wire.ID) *roster {
	r := &roster{
		version: o.Version, self: -1, window: int(o.Window), fragment: int(o.MTU), capacity: int(o.Capacity), tree: o.Flags&wire.OrderTree != 0,
		voters: o.Voters, of: o.Of, silent: slices.Clone(o.Departed[len(o.Departed)-int(o.Silent):]),
		byNID: make(map[nid.NID]int32, len(o.Members)), byNumber: make(map[uint32]int32, len(o.Members)),
	}
	for i, m := range o.Members {
		if g.peer(m.ID).dead {
			r.failed++
		}
		r.peers, r.numbers = append(r.peers, g.peer(m.ID)), append(r.numbers, m.Number)
		r.byNID[m.NID], r.byNumber[m.Number] = int32(i), int32(i)
		if m.ID == self {
			r.self = i
		}
	}
	g.rosters = append(g.rosters, r)
	return r
}

// revives reports whether a list has a member that counts as failed here, in a version that is still in use.
// If this node accepted the list, its messages would not wait for that member's acknowledgements; unless the
// member failed because it was silent, they would even end without an error (RM-2, RM-A8).
func (g *membership) revives(o *wire.Order) bool {
	return slices.ContainsFunc(o.Members, func(m wire.Member) bool {
		p := g.byID[m.ID]
		return p != nil && p.dead
	})
}

func (g *membership) peer(id wire.ID) *peer {
	p := g.byID[id]
	if p == nil {
		p = &peer{id: id}
		g.byID[id] = p
	}
	return p
}

// forget drops the rosters of versions below v, and peers that are on no list any more. It
// keeps the newest roster.
func (g *membership) forget(v wire.Version) {
	kept := g.rosters[:0]
	for i, r := range g.rosters {
		if i == len(g.rosters)-1 || r.version.Compare(v) >= 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) == len(g.rosters) {
		return
	}
	clear(g.rosters[len(kept):])
	g.rosters = kept
	for id, p := range g.byID { // any order: the entries are independent
		if p.stream == nil && !slices.ContainsFunc(kept, func(r *roster) bool { return r.has(p) }) {
			delete(g.byID, id)
		}
	}
}
