package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

// Texts of Lustre's tool in its tables of nodes by their states.
const (
	stateHeader = "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n"
	noName      = "(null)" // printed in place of the group's name if only one group is listed, as Lustre's tool does
)

// groupDoc is a group in JSON.
type groupDoc struct {
	Name   string         `json:"name"`
	Counts console.Counts `json:"counts"`
	Nodes  []nodeDoc      `json:"nodes,omitempty"`
}

// nodeDoc is a node in JSON.
type nodeDoc struct {
	Node  string        `json:"node"`
	State console.State `json:"state"`
}

// groupsDoc is a list of groups in JSON.
type groupsDoc struct {
	Groups []groupDoc `json:"groups"`
}

func nodeDocs(nodes []console.Node) (list []nodeDoc) {
	for _, n := range nodes {
		list = append(list, nodeDoc{n.ID.String(), n.State})
	}
	return list
}

func listGroup(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "list_group [--active] [--busy] [--down] [--unknown] [--all] [GROUP...]", Short: "List groups, or their nodes",
		Long: `Lists the groups or, of the named groups, how many nodes they have by their states or,
with an option, those of their nodes that are in such a state. A single group has no
name in the output, as with Lustre's tool.`,
		Example:     "  lst list_group\n  lst list_group --all servers",
		Annotations: usageText("list_group [--active] [--busy] [--down] [--unknown] [--all] GROUP ..."),
	}
	all := c.Flags().BoolP("all", "l", false, "list all nodes")
	chosen := map[console.State]*bool{}
	for _, s := range []struct {
		state console.State
		short string
	}{{console.Active, "a"}, {console.Busy, "b"}, {console.Down, "d"}, {console.Unknown, "u"}} {
		chosen[s.state] = c.Flags().BoolP(s.state.String(), s.short, false, fmt.Sprintf("list nodes that are %v", s.state))
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return g.listGroups(c)
		}
		var states []console.State
		for _, s := range []console.State{console.Active, console.Busy, console.Down, console.Unknown} {
			if *all || *chosen[s] {
				states = append(states, s)
			}
		}
		groups, err := g.find(c, args)
		if err != nil {
			return err
		}
		return g.printGroups(c.OutOrStdout(), groups, states)
	}
	return c
}

// listGroups lists the names of the groups. Like Lustre's tool it fails if there is none.
func (g *globals) listGroups(c *cobra.Command) error {
	groups, err := selftest.OpGroups.Call(c.Context(), g.client(), control.None{})
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return refusal(err, "group", "Failed to list groups")
	}
	if g.json {
		d := groupsDoc{Groups: []groupDoc{}}
		for _, one := range groups {
			d.Groups = append(d.Groups, groupDoc{Name: one.Name, Counts: one.Counts})
		}
		return cli.JSON(c.OutOrStdout(), d)
	}
	if len(groups) == 0 {
		return &failure{text: strings.TrimSuffix(noObject, "\n"), code: noGroups}
	}
	printNames(c.OutOrStdout(), groups)
	return nil
}

// printNames prints the names of groups.
func printNames(w io.Writer, groups []console.Group) {
	for i, one := range groups {
		fmt.Fprintf(w, "%d) %s\n", i+1, shown(one.Name))
	}
	fmt.Fprintf(w, "Total %d groups\n", len(groups))
}

// find returns those of the named groups that exist.
func (g *globals) find(c *cobra.Command, names []string) (groups []console.Group, err error) {
	for _, name := range names {
		one, err := selftest.OpGroup.Call(c.Context(), g.client(), selftest.Named{Name: name})
		errno, refused := errnoOf(err)
		switch {
		case err == nil:
			groups = append(groups, one)
		case !refused || errno != syscall.ENOENT && errno != syscall.ESRCH:
			return nil, refusal(err, "group", "Failed to list group")
		}
	}
	return groups, nil
}

// printGroups prints groups: the numbers of their nodes or, if states are given, the nodes in these
// states.
func (g *globals) printGroups(w io.Writer, groups []console.Group, states []console.State) error {
	for i := range groups {
		if len(states) > 0 {
			groups[i].Nodes = slices.DeleteFunc(groups[i].Nodes, func(n console.Node) bool { return !slices.Contains(states, n.State) })
		}
	}
	if g.json {
		d := groupsDoc{Groups: []groupDoc{}}
		for _, one := range groups {
			d.Groups = append(d.Groups, groupDoc{one.Name, one.Counts, nodeDocs(one.Nodes)})
		}
		return cli.JSON(w, d)
	}
	if len(states) == 0 {
		printCounts(w, groups)
	} else {
		printMembers(w, groups)
	}
	return nil
}

// printCounts prints how many nodes each group has. Like Lustre's tool of version 2.17, it prints
// no header, and noName in place of the name of a single group. If there are several groups, it
// prints their names.
func printCounts(w io.Writer, groups []console.Group) {
	for _, one := range groups {
		name := noName
		if len(groups) > 1 {
			name = shown(one.Name)
		}
		fmt.Fprintf(w, "%s\t%s\n", countsText(one.Counts), name)
	}
}

// countsText is a line of numbers below stateHeader.
func countsText(n console.Counts) string {
	return fmt.Sprintf("\t%d\t%d\t%d\t%d\t%d", n.Active, n.Busy, n.Down, n.Unknown, n.Total)
}

// printMembers prints the nodes of groups. For a single group it prints the same as Lustre's tool
// of version 2.17, mistakes included: first a line that says, wrongly, that the group has no nodes,
// and then the nodes, with noName in place of the group's name.
func printMembers(w io.Writer, groups []console.Group) {
	fmt.Fprint(w, stateHeader)
	for _, one := range groups {
		name := shown(one.Name)
		if len(groups) == 1 {
			fmt.Fprintf(w, "Group [ %s ]\nNo nodes found [ %s ]\n", name, name)
			name = noName
		}
		fmt.Fprintf(w, "Group [ %s ]\n", name)
		printNodes(w, one.Nodes)
		fmt.Fprintf(w, "Total %d nodes [ %s ]\n", len(one.Nodes), name)
	}
}

// printNodes prints a line for each node.
func printNodes(w io.Writer, nodes []console.Node) {
	for _, n := range nodes {
		fmt.Fprintf(w, "\t%v: %s\n", n.ID, stateText(n.State))
	}
}
