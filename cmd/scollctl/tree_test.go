package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ulnet/scoll/tree"
)

// TestTimes: the times in a picture are the same as those of package tree.
func TestTimes(t *testing.T) {
	for _, c := range compare(1000, speed{8, 1}).Trees {
		topology, err := tree.Parse(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		g := grow(tree.Tree{Topology: topology, N: 1000, Root: 17}, speed{8, 1})
		if at := g.members[g.last].at; at != c.time {
			t.Errorf("%s: %v, want %v", c.Tree, at, c.time)
		}
		path := g.path()
		if path[0] != 17 || path[len(path)-1] != g.last || len(path) != g.members[g.last].level+1 {
			t.Errorf("%s: critical path %v", c.Tree, path)
		}
	}
}

// TestTextIsWhole: each node is drawn once, and there are about as many lines as requested.
func TestTextIsWhole(t *testing.T) {
	for _, topology := range []tree.Topology{tree.KNomial(2), tree.KNomial(5), tree.KAry(1), tree.KAry(3), tree.KAry(tree.MaxK)} {
		for _, n := range []int{1, 2, 17, 1000} {
			for _, lines := range []int{0, 1, 5, 64} {
				g := grow(tree.Tree{Topology: topology, N: n, Root: n / 3}, speed{1, 1})
				var b strings.Builder
				drawText(&b, g, lines)
				drawn, left, count := 0, 0, 0
				for line := range strings.Lines(b.String()) {
					if count++; count <= 3 {
						continue
					}
					if _, rest, ok := strings.Cut(line, "… "); ok {
						var children, nodes int
						if _, err := fmt.Sscanf(strings.NewReplacer("children", "c", "child", "c", "nodes", "n", "node", "n").Replace(rest), "%d c, %d n", &children, &nodes); err != nil {
							t.Fatal(rest, err)
						}
						left += nodes
					} else {
						drawn++
					}
				}
				if drawn+left != n || lines > 0 && n > lines && count-3 > lines+1 {
					t.Errorf("%v over %d, %d lines: %d drawn, %d left out, %d lines", topology, n, lines, drawn, left, count-3)
				}
			}
		}
	}
}

// TestPicture: every node has a point of its own inside the picture.
func TestPicture(t *testing.T) {
	g := grow(tree.Tree{Topology: tree.KNomial(3), N: 100, Root: 7}, speed{2, 1})
	points, leaves := make([]point, g.N), 0
	g.arrange(g.Root, points, &leaves)
	width := float64(leaves*columnWidth + 2*pictureEdge)
	for i, p := range points {
		if p.x < nodeRadius || p.x > width-nodeRadius || p.y < nodeRadius {
			t.Errorf("rank %d is at %v, outside", i, p)
		}
		for j, q := range points[:i] {
			if math.Hypot(p.x-q.x, p.y-q.y) < 2*nodeRadius {
				t.Errorf("ranks %d and %d are both at %v", j, i, p)
			}
		}
	}
	var b strings.Builder
	if err := drawSVG(&b, g); err != nil || strings.Count(b.String(), "<circle") != 100 || strings.Count(b.String(), "<line") != 99 {
		t.Errorf("%v: %s", err, b.String())
	}
}
