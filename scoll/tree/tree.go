// Package tree is the arithmetic of spanning trees over ranks (docs/spec/collectives.md,
// Build Spanning Trees).
//
// Ranks 0 to N-1 are positions in a list that all members share. Any of them can be the
// root: a [Topology] uses virtual ranks, of which 0 is the root, and a [Tree] rotates them
// by the root's rank. No tree is ever built: each node computes its parent and its children.
//
// All functions are pure. They calculate with integers, because floating-point logarithms are
// wrong for some exact powers. They allocate no memory but for the slices to which callers
// append.
package tree

import "slices"

// Topology is a shape of trees over the virtual ranks 0 to n-1.
type Topology interface {
	// Parent returns the parent of v, which is not 0.
	Parent(v, n int) int
	// Child returns child i of v, counted from 0 in any order, or false if v has
	// no more than i children.
	Child(v, n, i int) (child int, ok bool)
	// Size returns the number of nodes in the subtree of v, which includes v.
	Size(v, n int) int
	// Depth returns the number of levels below v; 0 for a leaf.
	Depth(v, n int) int
}

// Tree is a tree over the ranks 0 to N-1 with a root.
type Tree struct {
	Topology Topology // shape, over ranks that are counted from Root: (rank - Root) mod N
	N        int      // number of nodes, at least 1
	Root     int      // rank of the root node
}

// Child is a child of a node.
type Child struct {
	Rank  int // rank of the child
	Size  int // number of nodes in the child's subtree, itself included
	Depth int // levels of the child's subtree, itself included: 1 for a leaf
}

// virtual returns the virtual rank of a rank.
func (t Tree) virtual(rank int) int { return t.turn(rank, t.N-t.Root) }

// real returns the rank of a virtual rank.
func (t Tree) real(v int) int { return t.turn(v, t.Root) }

func (t Tree) turn(rank, by int) int {
	if rank += by; rank >= t.N {
		rank -= t.N
	}
	return rank
}

// Parent returns the rank of a node's parent; the root has none.
func (t Tree) Parent(rank int) (parent int, ok bool) {
	if rank == t.Root {
		return 0, false
	}
	return t.real(t.Topology.Parent(t.virtual(rank), t.N)), true
}

// Size returns the number of nodes in a node's subtree, itself included.
func (t Tree) Size(rank int) int { return t.Topology.Size(t.virtual(rank), t.N) }

// Depth returns the number of levels below a node.
func (t Tree) Depth(rank int) int { return t.Topology.Depth(t.virtual(rank), t.N) }

// Level returns how many levels a node is below the root.
func (t Tree) Level(rank int) int {
	level := 0
	for v := t.virtual(rank); v != 0; v = t.Topology.Parent(v, t.N) {
		level++
	}
	return level
}

// AppendChildren appends a node's children in the order of sending: the deepest subtree first, among equally
// deep ones the largest first, and among equally large ones the highest virtual rank first (SC-A3).
func (t Tree) AppendChildren(b []Child, rank int) []Child {
	start, v := len(b), t.virtual(rank)
	for i := 0; ; i++ {
		c, ok := t.Topology.Child(v, t.N, i)
		if !ok {
			break
		}
		b = append(b, Child{c, t.Topology.Size(c, t.N), t.Topology.Depth(c, t.N) + 1})
	}
	slices.SortFunc(b[start:], sendOrder)
	for i := range b[start:] {
		b[start+i].Rank = t.real(b[start+i].Rank)
	}
	return b
}

func sendOrder(a, b Child) int {
	switch {
	case a.Depth != b.Depth:
		return b.Depth - a.Depth
	case a.Size != b.Size:
		return b.Size - a.Size
	}
	return b.Rank - a.Rank
}

// AppendSubtree appends the ranks of a node's subtree, itself first.
func (t Tree) AppendSubtree(b []int, rank int) []int {
	start := len(b)
	b = append(b, t.virtual(rank))
	for next := start; next < len(b); next++ {
		for i := 0; ; i++ {
			c, ok := t.Topology.Child(b[next], t.N, i)
			if !ok {
				break
			}
			b = append(b, c)
		}
	}
	for i, v := range b[start:] {
		b[start+i] = t.real(v)
	}
	return b
}
