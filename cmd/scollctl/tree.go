package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/scoll/tree"
)

// maxNodes bounds the size of trees that are drawn or compared.
const maxNodes = 1 << 20

// maxTime bounds latency and overhead, so that times of the largest tree do not overflow.
const maxTime = 10 * time.Second

func treeCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "tree",
		Short: "Show the trees over which collectives go, and compare them",
		Long: `Shows the trees over which collectives go, and compares them. It needs no
daemon: trees are arithmetic on ranks, the positions in a group's list.`,
	}
	c.AddCommand(treeShowCommand(g), treeCompareCommand(g))
	return c
}

// shape has the flags that describe the shape of a tree.
type shape struct {
	nodes int
	kind  string
	k     int
	root  int
	speed
}

// speed is the parameters of a network in the LogP model: how long a message takes, and the
// time between two sends of a node.
type speed struct{ latency, overhead time.Duration }

// addSize adds the flags that all verbs have.
func (s *shape) addSize(c *cobra.Command) {
	c.Flags().IntVar(&s.nodes, "nodes", 0, "`NUMBER` of nodes")
	c.Flags().DurationVar(&s.latency, "latency", 10*time.Microsecond, "`TIME` that a message takes (l in LogP)")
	c.Flags().DurationVar(&s.overhead, "overhead", 10*time.Microsecond, "`TIME` between two sends of a node (o in LogP)")
}

func (s *shape) checkSize() error {
	if s.nodes < 1 || s.nodes > maxNodes {
		return cli.Usagef("--nodes: want a number from 1 to %d, not %d", maxNodes, s.nodes)
	}
	if min(s.latency, s.overhead) < 0 || max(s.latency, s.overhead) > maxTime {
		return cli.Usagef("--latency and --overhead: want times from 0 to %v", maxTime)
	}
	return nil
}

// tree returns the tree of the command line.
func (s *shape) tree() (tree.Tree, error) {
	if err := s.checkSize(); err != nil {
		return tree.Tree{}, err
	}
	if s.root < 0 || s.root >= s.nodes {
		return tree.Tree{}, cli.Usagef("--root: want a rank from 0 to %d, not %d", s.nodes-1, s.root)
	}
	text := s.kind
	switch strings.ReplaceAll(s.kind, "-", "") {
	case "knomial":
		text = fmt.Sprint("k-nomial ", s.k)
	case "kary":
		text = fmt.Sprint("k-ary ", s.k)
	}
	topology, err := tree.Parse(text)
	if err != nil {
		return tree.Tree{}, cli.Usagef("--type and --k: %w", err)
	}
	return tree.Tree{Topology: topology, N: s.nodes, Root: s.root}, nil
}

func treeShowCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show --nodes NUMBER [--type TYPE] [--k K] [--root RANK]",
		Short: "Draw a tree",
		Long: `Draws a tree as text, as a graph for Graphviz with --dot, or as a picture with
--svg. Children are in the order in which they are sent to. The numbers in
parentheses are the nodes of a subtree. The critical path, to the one who gets a
message last, is by LogP: a node begins a send every --overhead, and a message
arrives after --latency.`,
		Example: `  scollctl tree show --nodes 16 --k 4
  scollctl tree show --nodes 12 --type k-ary --k 3 --svg tree.svg
  scollctl tree show --nodes 14 --root 5 --dot | dot -Tpng > tree.png`,
		Args: cli.Args(),
	}
	var s shape
	var o drawing
	s.addSize(c)
	c.Flags().StringVar(&s.kind, "type", "k-nomial", "`TYPE`: k-nomial, k-ary, binomial, flat")
	c.Flags().IntVar(&s.k, "k", 2, "`K` of the type")
	c.Flags().IntVar(&s.root, "root", 0, "`RANK` of the root")
	c.Flags().IntVar(&o.lines, "lines", 64, "leave something out beyond a `NUMBER` of lines; 0: never")
	c.Flags().BoolVar(&o.dot, "dot", false, "print a graph for Graphviz")
	c.Flags().StringVar(&o.svg, "svg", "", "write a picture to `FILE`; -: to standard output")
	c.RunE = func(c *cobra.Command, _ []string) error {
		t, err := s.tree()
		if err != nil {
			return err
		}
		if o.json = g.json; o.several() {
			return cli.Usagef("--dot, --svg and --json exclude each other")
		}
		return o.draw(c.OutOrStdout(), grow(t, s.speed))
	}
	return c
}
