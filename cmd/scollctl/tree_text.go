package main

import (
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
)

// widest bounds how many children of one node are drawn if the tree does not fit.
const widest = 8

// drawText draws a tree with a line for each node. If there are not enough lines, it draws as
// many levels below the root as fit, and gives the number of nodes that it leaves out.
func drawText(w io.Writer, g *grown, lines int) {
	headline(w, g)
	fmt.Fprintln(w)
	d := textDrawing{w: w, grown: g, shown: make([]int, g.N)}
	d.choose(lines)
	fmt.Fprintf(w, "%d\n", g.Root)
	d.below(g.Root, "")
}

// textDrawing is a tree that is being drawn.
type textDrawing struct {
	*grown
	w     io.Writer
	shown []int // by rank: number of its children that are drawn
}

// choose selects the nodes to draw in the given number of lines; 0: all nodes.
func (d *textDrawing) choose(lines int) {
	if lines <= 0 || d.N <= lines {
		for rank := range d.shown {
			d.shown[rank] = len(d.members[rank].children)
		}
		return
	}
	lines = (lines + 1) / 2 // half of the lines, since the others say how many nodes are left out
	next := []int{d.Root}   // ranks that are drawn, and whose children may be drawn next
	for used := 1; len(next) > 0 && used < lines; next = next[1:] {
		children := d.members[next[0]].children
		n := min(len(children), widest, lines-used)
		d.shown[next[0]] = n
		used += n
		next = append(next, children[:n]...)
	}
}

// below draws the subtrees below a rank.
func (d *textDrawing) below(rank int, indent string) {
	m := &d.members[rank]
	shown := d.shown[rank]
	for i, c := range m.children[:shown] {
		if i == len(m.children)-1 {
			d.child(c, indent+"└── ", indent+"    ")
		} else {
			d.child(c, indent+"├── ", indent+"│   ")
		}
	}
	if rest := m.children[shown:]; len(rest) > 0 {
		nodes := 0
		for _, c := range rest {
			nodes += d.members[c].size
		}
		fmt.Fprintf(d.w, "%s└── … %s, %s\n", indent, cli.Count(len(rest), "child", "children"), cli.Count(nodes, "node", "nodes"))
	}
}

func (d *textDrawing) child(rank int, prefix, indent string) {
	fmt.Fprintf(d.w, "%s%d", prefix, rank)
	if size := d.members[rank].size; size > 1 {
		fmt.Fprintf(d.w, " (%d)", size)
	}
	fmt.Fprintln(d.w)
	d.below(rank, indent)
}
