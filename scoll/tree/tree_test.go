package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// golden has, for the inner nodes of some trees, the virtual ranks of their children in the order of sending,
// and the sizes and depths of the children's subtrees (docs/spec, collectives §C.1).
var golden = []struct {
	topology Topology
	n        int
	inner    string
}{
	{KNomial(2), 16, "0→8 4 2 1/8 4 2 1/4 3 2 1; 2→3/1/1; 4→6 5/2 1/2 1; 6→7/1/1; 8→12 10 9/4 2 1/3 2 1; 10→11/1/1; 12→14 13/2 1/2 1; 14→15/1/1"},
	{KNomial(2), 14, "0→8 4 2 1/6 4 2 1/3 3 2 1; 2→3/1/1; 4→6 5/2 1/2 1; 6→7/1/1; 8→12 10 9/2 2 1/2 2 1; 10→11/1/1; 12→13/1/1"},
	{KNomial(2), 9, "0→4 2 8 1/4 2 1 1/3 2 1 1; 2→3/1/1; 4→6 5/2 1/2 1; 6→7/1/1"},
	{KNomial(3), 10, "0→6 3 9 2 1/3 3 1 1 1/2 2 1 1 1; 3→5 4/1 1/1 1; 6→8 7/1 1/1 1"},
	{KNomial(4), 16, "0→12 8 4 3 2 1/4 4 4 1 1 1/2 2 2 1 1 1; 4→7 6 5/1 1 1/1 1 1; 8→11 10 9/1 1 1/1 1 1; 12→15 14 13/1 1 1/1 1 1"},
	{KNomial(4), 11, "0→4 8 3 2 1/4 3 1 1 1/2 2 1 1 1; 4→7 6 5/1 1 1/1 1 1; 8→10 9/1 1/1 1"},
	{KAry(3), 12, "0→2 1 3/4 4 3/2 2 2; 1→6 5 4/1 1 1/1 1 1; 2→9 8 7/1 1 1/1 1 1; 3→11 10/1 1/1 1"},
	{KAry(3), 5, "0→1 3 2/2 1 1/2 1 1; 1→4/1/1"},
	{KAry(2), 7, "0→2 1/3 3/2 2; 1→4 3/1 1/1 1; 2→6 5/1 1/1 1"},
	{KNomial(2), 1, ""},
	{KAry(4), 1, ""},
	{KAry(MaxK), 4, "0→3 2 1/1 1 1/1 1 1"},
}

func TestGolden(t *testing.T) {
	spec.Covers(t, "SC-28", "SC-111", "SC-112", "SC-114", "SC-116", "SC-118", "SC-119", "SC-120", "SC-121", "SC-122",
		"SC-A3", "SC-A26")
	for _, g := range golden {
		var inner []string
		for rank := range g.n {
			if children := (Tree{g.topology, g.n, 0}).AppendChildren(nil, rank); len(children) > 0 {
				inner = append(inner, text(rank, children))
			}
		}
		if got := strings.Join(inner, "; "); got != g.inner {
			t.Errorf("%v of %d:\ngot  %s\nwant %s", g.topology, g.n, got, g.inner)
		}
	}
}

// TestBinomial: SC-113, SC-114: in a full binomial tree the odd ranks are the leaves. The subtree of a node R with
// parent P has R-P nodes, which is 2 to the power of the number of R's children. In a partial tree some even ranks are
// leaves too.
func TestBinomial(t *testing.T) {
	spec.Covers(t, "SC-113", "SC-114")
	tree := Tree{KNomial(2), 64, 0}
	for rank := 1; rank < tree.N; rank++ {
		parent, _ := tree.Parent(rank)
		children := tree.AppendChildren(nil, rank)
		if (len(children) == 0) != (rank%2 == 1) || tree.Size(rank) != rank-parent || tree.Size(rank) != 1<<len(children) {
			t.Errorf("rank %d has %d nodes, children %v", rank, tree.Size(rank), children)
		}
	}
	if children := (Tree{KNomial(2), 9, 0}).AppendChildren(nil, 8); len(children) != 0 {
		t.Errorf("rank 8 of 9 has children %v", children)
	}
}

func text(rank int, children []Child) string {
	var ranks, sizes, depths []string
	for _, c := range children {
		ranks = append(ranks, fmt.Sprint(c.Rank))
		sizes = append(sizes, fmt.Sprint(c.Size))
		depths = append(depths, fmt.Sprint(c.Depth))
	}
	return fmt.Sprintf("%d→%s/%s/%s", rank, strings.Join(ranks, " "), strings.Join(sizes, " "), strings.Join(depths, " "))
}

// TestRotation: any member can be the root, and the list of members stays the same (SC-A7).
func TestRotation(t *testing.T) {
	spec.Covers(t, "SC-A7")
	tree := Tree{KNomial(2), 14, 5}
	for rank, want := range map[int]string{5: "13 9 7 6", 7: "8", 9: "11 10", 11: "12", 13: "3 1 0", 1: "2", 3: "4"} {
		var got []string
		for _, c := range tree.AppendChildren(nil, rank) {
			got = append(got, fmt.Sprint(c.Rank))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("children of %d: %s, want %s", rank, g, want)
		}
	}
}

// chain is a third topology (SC-110): each node has one child.
type chain struct{}

func (chain) Parent(v, _ int) int { return v - 1 }

func (chain) Child(v, n, i int) (int, bool) { return v + 1, i == 0 && v+1 < n }

func (chain) Size(v, n int) int  { return n - v }
func (chain) Depth(v, n int) int { return n - v - 1 }

// TestTrees compares the computed parents, children, sizes and depths with trees that are built
// from them. For all sizes, roots and topologies the trees span all nodes and have no cycle
// (SC-123, SC-A4, SC-A5, SC-A9, SC-115). The test defines one of the topologies itself
// (SC-110).
func TestTrees(t *testing.T) {
	spec.Covers(t, "SC-110", "SC-115", "SC-123", "SC-A4", "SC-A5", "SC-A9")
	topologies := []Topology{chain{}, KAry(MaxK)}
	for k := 1; k <= 8; k++ {
		topologies = append(topologies, KAry(k))
		if k > 1 {
			topologies = append(topologies, KNomial(k))
		}
	}
	for _, topology := range topologies {
		for n := 1; n <= 64; n++ {
			for root := range n {
				check(t, Tree{topology, n, root})
			}
		}
		for _, n := range []int{127, 128, 129, 200, 255, 256, 257, 600} {
			check(t, Tree{topology, n, n / 3})
		}
	}
}

// check builds a tree from the parents of its nodes, and compares it with what is computed.
func check(t *testing.T, tree Tree) {
	t.Helper()
	children := make([][]int, tree.N)
	for rank := range tree.N {
		parent, ok := tree.Parent(rank)
		if ok != (rank != tree.Root) || ok && (parent < 0 || parent >= tree.N) {
			t.Fatalf("%v: parent of %d is %d, %v", tree, rank, parent, ok)
		}
		if ok {
			children[parent] = append(children[parent], rank)
		}
	}
	seen := 0
	var walk func(rank, level int) (size, depth int)
	walk = func(rank, level int) (size, depth int) {
		if seen++; seen > tree.N || tree.Level(rank) != level {
			t.Fatalf("%v: rank %d on level %d, computed %d", tree, rank, level, tree.Level(rank))
		}
		size = 1
		computed := tree.AppendChildren(nil, rank)
		if len(computed) != len(children[rank]) {
			t.Fatalf("%v: %d has children %v, computed %v", tree, rank, children[rank], computed)
		}
		for i, c := range computed {
			s, d := walk(c.Rank, level+1)
			if !slices.Contains(children[rank], c.Rank) || c.Size != s || c.Depth != d+1 {
				t.Fatalf("%v: child %+v of %d has size %d and depth %d", tree, c, rank, s, d+1)
			}
			if i > 0 && (computed[i-1].Depth < c.Depth || computed[i-1].Depth == c.Depth && computed[i-1].Size < c.Size) {
				t.Fatalf("%v: children of %d in the order %v", tree, rank, computed)
			}
			size, depth = size+s, max(depth, d+1)
		}
		if tree.Size(rank) != size || tree.Depth(rank) != depth {
			t.Fatalf("%v: %d has size %d, depth %d; computed %d, %d", tree, rank, size, depth, tree.Size(rank), tree.Depth(rank))
		}
		sub := tree.AppendSubtree([]int{-1}, rank)
		if len(sub) != size+1 || sub[1] != rank {
			t.Fatalf("%v: subtree of %d is %v, want %d nodes", tree, rank, sub[1:], size)
		}
		return size, depth
	}
	if size, _ := walk(tree.Root, 0); size != tree.N {
		t.Fatalf("%v: %d of %d nodes are in the tree", tree, size, tree.N)
	}
}

// TestExactPowers: the integer powers and logarithms are exact where floating point would be
// wrong (SC-A6).
func TestExactPowers(t *testing.T) {
	spec.Covers(t, "SC-A6")
	for k := 2; k <= 16; k++ {
		for p := k; p < 1<<30/k; p *= k {
			if got := KNomial(k).Size(p, 1<<30); got != p {
				t.Errorf("k-nomial %d: the subtree of %d has %d nodes", k, p, got)
			}
			if got := KNomial(k).Parent(p, 1<<30); got != 0 {
				t.Errorf("k-nomial %d: the parent of %d is %d", k, p, got)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Topology{
		"binomial": KNomial(2), "flat": KAry(MaxK), "k-nomial 4": KNomial(4), "k-ary 1": KAry(1),
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "k-nomial", "k-nomial 1", "k-ary 0", "star", "k-ary 1048577", "k-nomial 4x"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestNoAllocation: SC-83: computing a node's place in a tree allocates nothing.
func TestNoAllocation(t *testing.T) {
	spec.Covers(t, "SC-83")
	children := make([]Child, 0, 128)
	for _, topology := range []Topology{KNomial(2), KNomial(16), KAry(16)} {
		tree := Tree{topology, 1_000_000, 12345}
		n := testing.AllocsPerRun(100, func() {
			rank := 777_777
			tree.Parent(rank)
			children = tree.AppendChildren(children[:0], tree.Root)
			tree.Size(rank)
			tree.Depth(rank)
		})
		if n != 0 {
			t.Errorf("%v: %.0f allocations", topology, n)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	for _, topology := range []Topology{KNomial(2), KNomial(16), KAry(16)} {
		tree := Tree{topology, 1_000_000, 12345}
		b.Run(fmt.Sprintf("%v/parent,size,depth", topology), func(b *testing.B) {
			for b.Loop() {
				tree.Parent(777_777)
				tree.Size(777_777)
				tree.Depth(777_777)
			}
		})
		b.Run(fmt.Sprintf("%v/children", topology), func(b *testing.B) {
			children := make([]Child, 0, 128)
			for b.Loop() {
				children = tree.AppendChildren(children[:0], tree.Root)
			}
		})
	}
}
