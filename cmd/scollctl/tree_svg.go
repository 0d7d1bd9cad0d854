package main

import (
	"bufio"
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
)

// maxPicture bounds the number of nodes of a picture, which would not be legible with more.
const maxPicture = 4096

// Sizes in a picture, in pixels.
const (
	columnWidth = 36
	levelHeight = 72
	nodeRadius  = 14
	pictureEdge = 24
)

// point is the position of a node. Nodes without children are side by side, and the others are
// above the middle of their children.
type point struct{ x, y float64 }

// drawSVG draws a tree as a picture. The path to the node that gets a message last is red; the
// number at a line is the position in the order of sending.
func drawSVG(w io.Writer, g *grown) error {
	if g.N > maxPicture {
		return cli.Hint(fmt.Errorf("a picture of %d nodes is too large", g.N), "draw at most %d nodes, or use --dot", maxPicture)
	}
	points := make([]point, g.N)
	leaves := 0
	g.arrange(g.Root, points, &leaves)
	critical := map[int]bool{}
	for _, rank := range g.path() {
		critical[rank] = true
	}
	b := bufio.NewWriter(w)
	width := leaves*columnWidth + 2*pictureEdge
	height := g.members[g.Root].depth*levelHeight + 2*(pictureEdge+nodeRadius)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12" text-anchor="middle">`+"\n", width, height)
	fmt.Fprintf(b, "<title>%s over %d nodes, root %d</title>\n", name(g.Topology), g.N, g.Root)
	for _, rank := range g.order {
		for sent, c := range g.members[rank].children {
			drawLine(b, points[rank], points[c], sent+1, critical[c])
		}
	}
	for _, rank := range g.order {
		drawNode(b, points[rank], rank, critical[rank])
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// arrange sets the points of a subtree, with children in the order of sending from
// left to right.
func (g *grown) arrange(rank int, points []point, leaves *int) {
	m := &g.members[rank]
	p := &points[rank]
	p.y = float64(pictureEdge + nodeRadius + m.level*levelHeight)
	if len(m.children) == 0 {
		p.x = float64(pictureEdge + *leaves*columnWidth + columnWidth/2)
		*leaves++
		return
	}
	for _, c := range m.children {
		g.arrange(c, points, leaves)
	}
	p.x = (points[m.children[0]].x + points[m.children[len(m.children)-1]].x) / 2
}

func drawLine(w io.Writer, from, to point, number int, critical bool) {
	fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", from.x, from.y, to.x, to.y, colour(critical))
	x, y := from.x+(to.x-from.x)*0.7, from.y+(to.y-from.y)*0.7
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" font-size="9" fill="%s" stroke="white" stroke-width="3" paint-order="stroke">%d</text>`+"\n", x, y+3, colour(critical), number)
}

func drawNode(w io.Writer, at point, rank int, critical bool) {
	fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="%d" fill="white" stroke="%s"/>`+"\n", at.x, at.y, nodeRadius, colour(critical))
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f">%d</text>`+"\n", at.x, at.y+4, rank)
}

func colour(critical bool) string {
	if critical {
		return "#c00"
	}
	return "#555"
}
