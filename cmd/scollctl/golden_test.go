package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenTrees are trees that were computed for the specification, independently of this code.
// They list the children of all inner nodes in the order of sending (SC-112 to SC-123).
var goldenTrees = []struct {
	flags shape
	inner string
}{
	{shape{nodes: 16, kind: "binomial"}, "0:8,4,2,1 2:3 4:6,5 6:7 8:12,10,9 10:11 12:14,13 14:15"},
	{shape{nodes: 14, kind: "k-nomial", k: 2}, "0:8,4,2,1 2:3 4:6,5 6:7 8:12,10,9 10:11 12:13"},
	{shape{nodes: 9, kind: "knomial", k: 2}, "0:4,2,8,1 2:3 4:6,5 6:7"},
	{shape{nodes: 10, kind: "k-nomial", k: 3}, "0:6,3,9,2,1 3:5,4 6:8,7"},
	{shape{nodes: 16, kind: "k-nomial", k: 4}, "0:12,8,4,3,2,1 4:7,6,5 8:11,10,9 12:15,14,13"},
	{shape{nodes: 11, kind: "k-nomial", k: 4}, "0:4,8,3,2,1 4:7,6,5 8:10,9"},
	{shape{nodes: 12, kind: "k-ary", k: 3}, "0:2,1,3 1:6,5,4 2:9,8,7 3:11,10"},
	{shape{nodes: 5, kind: "kary", k: 3}, "0:1,3,2 1:4"},
	{shape{nodes: 7, kind: "k-ary", k: 2}, "0:2,1 1:4,3 2:6,5"},
	{shape{nodes: 5, kind: "flat"}, "0:4,3,2,1"},
	{shape{nodes: 14, kind: "binomial", root: 5}, "1:2 3:4 5:13,9,7,6 7:8 9:11,10 11:12 13:3,1,0"},
}

// TestGoldenTrees: --json prints the golden trees.
func TestGoldenTrees(t *testing.T) {
	for _, c := range goldenTrees {
		over, err := c.flags.tree()
		if err != nil {
			t.Fatal(err)
		}
		doc := treeDocOf(grow(over, speed{1, 1}))
		var inner []string
		for _, r := range doc.Ranks {
			if len(r.Children) > 0 {
				children := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Children), "[]"), " ", ",")
				inner = append(inner, fmt.Sprintf("%d:%s", r.Rank, children))
			}
			size, depth := 1, 0
			for _, child := range r.Children {
				below := doc.Ranks[child]
				size, depth = size+below.Size, max(depth, below.Depth+1)
				if below.Parent == nil || *below.Parent != r.Rank || below.Level != r.Level+1 {
					t.Errorf("%s over %d: %+v is no child of %d", doc.Tree, doc.Nodes, below, r.Rank)
				}
			}
			if r.Size != size || r.Depth != depth || (r.Parent == nil) != (r.Rank == doc.Root) {
				t.Errorf("%s over %d: %+v, want size %d and depth %d", doc.Tree, doc.Nodes, r, size, depth)
			}
		}
		if diff := cmp.Diff(c.inner, strings.Join(inner, " ")); diff != "" {
			t.Errorf("%s over %d (-want +got):\n%s", doc.Tree, doc.Nodes, diff)
		}
	}
}
