package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/scoll/tree"
)

func treeCompareCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "compare --nodes NUMBER [--latency TIME] [--overhead TIME]",
		Short: "Compare trees, and recommend a K",
		Long: `Compares how long a message takes over trees of several types, from the first
send of the root until the last node has it, by LogP: a node begins a send every
--overhead, and a message arrives after --latency. The best that any tree could
do, where whoever has the message keeps sending it, is 1.`,
		Example: "  scollctl tree compare --nodes 1000 --latency 40us --overhead 10us",
		Args:    cli.Args(),
	}
	var s shape
	s.addSize(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := s.checkSize(); err != nil {
			return err
		}
		return cli.Show(c.OutOrStdout(), g.json, compare(s.nodes, s.speed), printCompared)
	}
	return c
}

func printCompared(w io.Writer, doc compareDoc) error {
	var t cli.Table
	t.Row("tree", "levels", "children of root", "time", "of the best")
	for _, r := range doc.Trees {
		t.Row(r.Tree, r.Depth, r.Children, r.time, fmt.Sprintf("%.2f", r.Ratio))
	}
	t.Row("best possible", "", "", doc.best, "1.00")
	err := t.Print(w)
	fmt.Fprintf(w, "\nrecommended: %s\n", doc.Recommended)
	return err
}

// compareDoc is the JSON output of the comparison.
type compareDoc struct {
	Nodes       int           `json:"nodes"`
	Latency     float64       `json:"latency_us"`
	Overhead    float64       `json:"overhead_us"`
	Best        float64       `json:"best_us"` // time of the best possible tree, in µs
	Recommended string        `json:"recommended"`
	Trees       []comparedDoc `json:"trees"`

	best time.Duration
	speed
}

type comparedDoc struct {
	Tree     string  `json:"tree"`
	Depth    int     `json:"depth"`
	Children int     `json:"children"` // number of the root's children
	Time     float64 `json:"time_us"`
	Ratio    float64 `json:"ratio"` // time of this tree divided by that of the best possible tree

	time time.Duration
}

// compare compares some trees with the recommended one.
func compare(n int, v speed) compareDoc {
	doc := compareDoc{
		Nodes: n, Latency: micros(v.latency), Overhead: micros(v.overhead),
		best: tree.Optimum(n, v.latency, v.overhead), speed: v,
	}
	doc.Best = micros(doc.best)
	kinds := []tree.Topology{
		tree.KNomial(2), tree.KNomial(3), tree.KNomial(4), tree.KNomial(8), tree.KNomial(16), tree.KNomial(32),
		tree.KAry(2), tree.KAry(4), tree.KAry(8), tree.KAry(tree.MaxK),
	}
	best := tree.Topology(tree.Recommend(n, v.latency, v.overhead))
	if doc.Recommended = name(best); !slices.Contains(kinds, best) {
		kinds = slices.Insert(kinds, 0, best)
	}
	for _, t := range kinds {
		doc.Trees = append(doc.Trees, doc.measure(t))
	}
	return doc
}

func (d *compareDoc) measure(t tree.Topology) comparedDoc {
	over := tree.Tree{Topology: t, N: d.Nodes}
	c := comparedDoc{Tree: name(t), Depth: over.Depth(0), Children: len(over.AppendChildren(nil, 0)), Ratio: 1}
	c.time = tree.Latency(t, d.Nodes, d.latency, d.overhead)
	c.Time = micros(c.time)
	if d.best > 0 {
		c.Ratio = float64(c.time) / float64(d.best)
	}
	return c
}
