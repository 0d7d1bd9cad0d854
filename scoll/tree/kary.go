package tree

import "fmt"

// KAry is the complete K-ary topology: levels are filled one after the other,
// from left to right. K is at least 1; K of n-1 or more is a flat tree.
type KAry int

// String returns the text that [Parse] takes.
func (k KAry) String() string { return fmt.Sprintf("k-ary %d", int(k)) }

// Parent implements Topology.
func (k KAry) Parent(v, _ int) int { return (v - 1) / int(k) }

// Child implements Topology.
func (k KAry) Child(v, n, i int) (child int, ok bool) {
	child = v*int(k) + 1 + i
	return child, i < int(k) && child < n
}

// Size implements Topology. It adds up the number of ranks in each level of the subtree, from the level's
// first rank to its last.
func (k KAry) Size(v, n int) int {
	size := 0
	for first, last := v, v; first < n; first, last = first*int(k)+1, last*int(k)+int(k) {
		size += min(last, n-1) - first + 1
	}
	return size
}

// Depth implements Topology.
func (k KAry) Depth(v, n int) int {
	depth := 0
	for v = v*int(k) + 1; v < n; v = v*int(k) + 1 {
		depth++
	}
	return depth
}
