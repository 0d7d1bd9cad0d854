package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneTopologyCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "topology [--dot]",
		Short: "Show who watches whom",
		Long: `Shows the links of this node: whether each is up, why it is there (a successor on the
ring, drawn at random, or wanted by the other end), and when it was last heard of.
With --dot it draws the ring of all members, with their links to successors, and
the random links of this node: those of others only they know.`,
		Example: "  gossipctl zone topology\n  gossipctl zone topology --dot | circo -Tsvg > zone.svg",
		Args:    cli.Args(),
	}
	dot := c.Flags().Bool("dot", false, "print a graph for Graphviz")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *dot && g.json {
			return cli.Usagef("--dot and --json exclude each other")
		}
		t, err := zonemod.OpTopology.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		t.Links, _ = listed(t.Links, nil)
		print := topologyText
		if *dot {
			print = topologyDot
		}
		return cli.Show(c.OutOrStdout(), g.json, t, print)
	}
	return c
}

func topologyText(w io.Writer, t zonemod.Topology) error {
	at := slices.Index(t.Ring, t.Self)
	fmt.Fprintf(w, "%v is number %d of %d on the ring\n", t.Self, at+1, len(t.Ring))
	var table cli.Table
	table.Row("NEIGHBOUR", "STATE", "WHY", "HEARD")
	for i := range t.Links {
		l := &t.Links[i]
		heard := "never"
		if !l.NeverHeard {
			heard = l.Heard.Round(time.Millisecond).String() + " ago"
		}
		table.Row(l.ID, l.State, zonemod.LinkRoles(l), heard)
	}
	return table.Print(w)
}

// topologyDot writes the topology in the language of Graphviz, with an edge from each node to
// the neighbours that it monitors. Both ends of a link monitor each other.
func topologyDot(w io.Writer, t zonemod.Topology) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, "graph zone {")
	name := func(id zone.ID) string { return fmt.Sprintf("%q", id.Name()) }
	for _, id := range t.Ring {
		style := ""
		if id == t.Self {
			style = " [style=bold]"
		}
		fmt.Fprintf(&b, "  %s%s;\n", name(id), style)
	}
	n := len(t.Ring)
	drawn := make(map[[2]int]bool)
	for i := range t.Ring {
		for k := 1; k <= t.Successors && k < n; k++ {
			j := (i + k) % n
			if edge := [2]int{min(i, j), max(i, j)}; !drawn[edge] {
				drawn[edge] = true
				fmt.Fprintf(&b, "  %s -- %s;\n", name(t.Ring[i]), name(t.Ring[j]))
			}
		}
	}
	for i := range t.Links {
		if l := &t.Links[i]; !l.Successor {
			fmt.Fprintf(&b, "  %s -- %s [style=dashed];\n", name(t.Self), name(l.ID))
		}
	}
	fmt.Fprintln(&b, "}")
	_, err := w.Write(b.Bytes())
	return err
}
