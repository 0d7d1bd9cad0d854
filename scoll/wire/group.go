package wire

import (
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// GroupID names a group. For an out-of-band group Creator is zero, and
// Incarnation and Index are the service's own 128 bits.
type GroupID struct {
	Creator     nid.NID // node that created the group; zero: out-of-band
	Incarnation uint64  // incarnation of the creator
	Index       uint64  // number of the group, unique within that incarnation
	Digest      Digest  // digest of the membership
}

// String returns "nid.incarnation.index".
func (g GroupID) String() string {
	if !g.Creator.IsValid() {
		return fmt.Sprintf("oob.%x.%x", g.Incarnation, g.Index)
	}
	return fmt.Sprintf("%v.%x.%d", g.Creator, g.Incarnation, g.Index)
}

// TreeType is the type of a spanning tree.
type TreeType uint8

// The types of trees.
const (
	KNomial TreeType = 1
	KAry    TreeType = 2
)

// Tree is a type of tree and its K. The zero value is the binomial tree.
type Tree struct {
	Type TreeType // k-nomial or k-ary
	K    uint32   // fan-out: at least 2 for KNomial, at least 1 for KAry
}

// OrDefault returns the binomial tree for the zero value, otherwise t.
func (t Tree) OrDefault() Tree {
	if t == (Tree{}) {
		return Tree{KNomial, 2}
	}
	return t
}

// Topology returns the arithmetic of the tree, or false if type or K are invalid.
func (t Tree) Topology() (tree.Topology, bool) {
	switch {
	case t.K > tree.MaxK:
	case t.Type == KNomial && t.K >= 2:
		return tree.KNomial(t.K), true
	case t.Type == KAry && t.K >= 1:
		return tree.KAry(t.K), true
	}
	return nil, false
}

// String returns the text that tree.Parse takes.
func (t Tree) String() string {
	if topology, ok := t.Topology(); ok {
		return fmt.Sprint(topology)
	}
	return fmt.Sprintf("type %d %d", t.Type, t.K)
}
