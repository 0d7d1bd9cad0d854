package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "zone",
		Short: "Show who is in the zone, and what they say of themselves; join and leave",
		Long: `Shows the membership that lnetd keeps for large systems: zones of some thousand
nodes, and a management zone above them. Nodes are named by their name, or by
their id, which is NAME=NID[,NID...]. The section zone of lnetd's configuration
has the node join one; it can leave, and join again. A node that exists in views
only is removed.`,
		Example: `  gossipctl zone status
  gossipctl zone attr set role mds
  gossipctl zone watch`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(zoneJoinCommand(g), zoneLeaveCommand(g), zoneRemoveCommand(g), zoneStatusCommand(g), zoneMembersCommand(g), zoneWatchCommand(g), zoneAttrCommand(g), zoneCensusCommand(g),
		zoneTopologyCommand(g), zoneSuspicionsCommand(g), zoneExplainCommand(g))
	return c
}

// listed replaces a nil list by an empty one, which JSON shows as [] instead of null.
func listed[T any](list []T, err error) ([]T, error) {
	if list == nil {
		list = []T{}
	}
	return list, err
}

func zoneSuspicionsCommand(g *globals) *cobra.Command {
	return cli.Question[[]zone.SuspicionStatus]{
		Use: "suspicions", Short: "Show who suspects whom",
		Long: `Shows all reports of failed nodes that were not refuted: who is suspected in which
version, by whom, how many reports remove it, and whether this one counts: who
suspects very many is not believed.`,
		Example: "  gossipctl zone suspicions",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]zone.SuspicionStatus, error) {
			return listed(zonemod.OpSuspicions.Call(ctx, g.client(), control.None{}))
		},
		Print: func(w io.Writer, list []zone.SuspicionStatus) error {
			var t cli.Table
			t.Row("SUSPECT", "VERSION", "BY", "COUNTS", "NEEDED")
			for _, s := range list {
				t.Row(s.Suspect, s.Version, s.Reporter, s.Counts, s.Needed)
			}
			return t.Print(w)
		},
	}.Command(&g.json)
}

func zoneCensusCommand(g *globals) *cobra.Command {
	return cli.Question[[]zone.CensusEntry]{
		Use: "census", Short: "Show all base zones",
		Long: `Shows what the management zone knows of the base zones: how large each is, which
delegate speaks for it, who guards it, and how far that can be believed. Only
supervisors know. An entry is stale when no supervisor hears a delegate that
speaks for the zone, for so long; lost when nobody else took over in time.`,
		Example: "  gossipctl zone census --json | jq 'map(.size) | add'",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]zone.CensusEntry, error) {
			return listed(zonemod.OpCensus.Call(ctx, g.client(), control.None{}))
		},
		Print: printCensus,
	}.Command(&g.json)
}

func printCensus(w io.Writer, list []zone.CensusEntry) error {
	var t cli.Table
	total, states := 0, map[zone.CensusState]int{}
	t.Row("ZONE", "MEMBERS", "DELEGATES", "DELEGATE", "SUPERVISOR", "STATE")
	for i := range list {
		e := &list[i]
		t.Row(e.Zone, e.Size, e.Delegates, e.Delegate, e.Supervisor, zonemod.CensusText(e))
		total += e.Size
		states[e.State]++
	}
	err := t.Print(w)
	text := fmt.Sprintf("%s, %s", cli.Count(len(list), "zone", "zones"), cli.Count(total, "member", "members"))
	for _, s := range []zone.CensusState{zone.Stale, zone.Lost} {
		if states[s] > 0 {
			text += fmt.Sprintf("; %s %v", cli.Count(states[s], "zone", "zones"), s)
		}
	}
	fmt.Fprintln(w, text)
	return err
}
