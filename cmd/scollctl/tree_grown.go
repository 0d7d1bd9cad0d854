package main

import (
	"time"

	"ulnet/scoll/tree"
)

// grown is a tree with all its nodes, which are needed only to draw it.
type grown struct {
	tree.Tree
	speed
	members []member // nodes of the tree, by rank
	order   []int    // ranks by level; within a level, in the order of sending
	last    int      // the node that gets a message last; if there are several, the first in order
}

// member is a node of a tree.
type member struct {
	parent   int // rank of the parent; -1: this is the root
	children []int
	size     int
	level    int           // number of levels between the root and this node
	depth    int           // number of levels below this node
	at       time.Duration // time at which a message arrives at this node
}

// grow computes all nodes of a tree, in O(N) memory.
func grow(t tree.Tree, v speed) *grown {
	g := &grown{Tree: t, speed: v, members: make([]member, t.N), order: make([]int, 0, t.N)}
	g.members[t.Root] = member{parent: -1, size: t.N, depth: t.Depth(t.Root)}
	g.order = append(g.order, t.Root)
	var children []tree.Child
	for i := 0; i < len(g.order); i++ {
		rank := g.order[i]
		m := &g.members[rank]
		children = t.AppendChildren(children[:0], rank)
		for sent, c := range children {
			m.children = append(m.children, c.Rank)
			g.members[c.Rank] = member{
				parent: rank, size: c.Size, level: m.level + 1, depth: c.Depth - 1,
				at: m.at + time.Duration(sent)*v.overhead + v.latency,
			}
		}
		g.order = append(g.order, m.children...)
		if m.at > g.members[g.last].at || i == 0 {
			g.last = rank
		}
	}
	return g
}

// fanOut returns the largest number of children of a node.
func (g *grown) fanOut() (most int) {
	for i := range g.members {
		most = max(most, len(g.members[i].children))
	}
	return most
}

// path returns the ranks from the root to the node that gets a message last.
func (g *grown) path() []int {
	m := g.members[g.last]
	path := make([]int, m.level+1)
	for rank, i := g.last, m.level; i >= 0; i-- {
		path[i] = rank
		rank = g.members[rank].parent
	}
	return path
}
