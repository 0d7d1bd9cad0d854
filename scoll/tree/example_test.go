package tree_test

import (
	"fmt"

	"ulnet/scoll/tree"
)

// Each node computes its own place in a tree: here the binomial one of eight nodes, with rank 2
// as the root.
func Example() {
	t := tree.Tree{Topology: tree.KNomial(2), N: 8, Root: 2}
	fmt.Println("the root's children:")
	for _, c := range t.AppendChildren(nil, 2) {
		fmt.Printf("rank %d, %d nodes in %d levels\n", c.Rank, c.Size, c.Depth)
	}
	parent, _ := t.Parent(0)
	fmt.Println("the parent of rank 0:", parent)
	// Output:
	// the root's children:
	// rank 6, 4 nodes in 3 levels
	// rank 4, 2 nodes in 2 levels
	// rank 3, 1 nodes in 1 levels
	// the parent of rank 0: 6
}
