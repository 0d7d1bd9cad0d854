package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/scoll/tree"
)

// drawing says how to show a tree.
type drawing struct {
	lines int // largest number of lines of text; 0: not limited
	dot   bool
	json  bool
	svg   string
}

func (o *drawing) several() bool {
	return o.dot && o.json || o.svg != "" && (o.dot || o.json)
}

func (o *drawing) draw(w io.Writer, g *grown) (err error) {
	switch {
	case o.json:
		return cli.JSON(w, treeDocOf(g))
	case o.svg == "-":
		return drawSVG(w, g)
	case o.svg != "":
		return cli.Save(o.svg, "--svg", func(w io.Writer) error { return drawSVG(w, g) })
	}
	b := bufio.NewWriter(w)
	if o.dot {
		drawDOT(b, g)
	} else {
		drawText(b, g, o.lines)
	}
	return b.Flush()
}

// treeDoc is the JSON output for a tree.
type treeDoc struct {
	Tree     string    `json:"tree"`
	Nodes    int       `json:"nodes"`
	Root     int       `json:"root"`
	Depth    int       `json:"depth"`
	FanOut   int       `json:"fan_out"`
	Latency  float64   `json:"latency_us"`
	Overhead float64   `json:"overhead_us"`
	Last     lastDoc   `json:"last"` // the node that receives a message last
	Ranks    []rankDoc `json:"ranks"`
}

type lastDoc struct {
	Rank int     `json:"rank"`
	Time float64 `json:"time_us"`
	Path []int   `json:"path"`
}

type rankDoc struct {
	Rank     int     `json:"rank"`
	Parent   *int    `json:"parent"`   // rank of the parent; null: this is the root
	Children []int   `json:"children"` // ranks of the children, in the order of sending
	Level    int     `json:"level"`    // number of levels between the root and this node
	Depth    int     `json:"depth"`    // number of levels below this node
	Size     int     `json:"size"`     // number of nodes in its subtree
	Time     float64 `json:"time_us"`  // time at which a message arrives at this node, in µs
}

func treeDocOf(g *grown) treeDoc {
	doc := treeDoc{
		Tree: name(g.Topology), Nodes: g.N, Root: g.Root, Depth: g.members[g.Root].depth, FanOut: g.fanOut(),
		Latency: micros(g.latency), Overhead: micros(g.overhead),
		Last: lastDoc{g.last, micros(g.members[g.last].at), g.path()}, Ranks: make([]rankDoc, g.N),
	}
	for rank := range doc.Ranks {
		m := &g.members[rank]
		d := rankDoc{Rank: rank, Children: m.children, Level: m.level, Depth: m.depth, Size: m.size, Time: micros(m.at)}
		if d.Children == nil {
			d.Children = []int{}
		}
		if m.parent >= 0 {
			d.Parent = &m.parent
		}
		doc.Ranks[rank] = d
	}
	return doc
}

func drawDOT(w io.Writer, g *grown) {
	fmt.Fprintf(w, "digraph %q {\n\tnode [shape=circle]\n\t%d [shape=doublecircle]\n", name(g.Topology), g.Root)
	for _, rank := range g.order {
		for sent, c := range g.members[rank].children {
			fmt.Fprintf(w, "\t%d -> %d [label=%d]\n", rank, c, sent+1)
		}
	}
	fmt.Fprintln(w, "}")
}

// headline prints the properties of a tree.
func headline(w io.Writer, g *grown) {
	fmt.Fprintf(w, "%s over %s, root %d: %s, at most %s\n", name(g.Topology), cli.Count(g.N, "node", "nodes"), g.Root,
		cli.Count(g.members[g.Root].depth, "level", "levels"), cli.Count(g.fanOut(), "child", "children"))
	path := make([]string, 0, 8)
	for _, rank := range g.path() {
		path = append(path, strconv.Itoa(rank))
	}
	fmt.Fprintf(w, "critical path %s: %v, with %v for a message and %v between sends\n", strings.Join(path, " → "), g.members[g.last].at, g.latency, g.overhead)
}

// micros returns a time in µs.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// name returns the name of a topology, in the words of --type and --k.
func name(t tree.Topology) string {
	if t == tree.KAry(tree.MaxK) {
		return "flat"
	}
	return fmt.Sprint(t)
}
