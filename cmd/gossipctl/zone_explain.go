package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneExplainCommand(g *globals) *cobra.Command {
	return cli.Question[zone.Explanation]{
		Use: "explain NODE", Short: "Explain why a node is a member, or is not",
		Long: `Explains what this node knows of another one: whether it is in the view and in which
version, when and why it went, who suspects it, and what link there is.`,
		Example: "  gossipctl zone explain n7",
		Args:    cli.Args("a node"),
		Ask: func(ctx context.Context, args []string) (zone.Explanation, error) {
			return zonemod.OpExplain.Call(ctx, g.client(), zonemod.NodeName{Node: args[0]})
		},
		Print: explainZone,
	}.Command(&g.json)
}

// explainZone prints an explanation as sentences.
func explainZone(w io.Writer, x zone.Explanation) error {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	switch {
	case x.Gone != nil && x.Gone.Orderly && x.Gone.Code == zone.CodeRemoved:
		say("%v was removed by an administrator %v ago, as version %v. If it runs it comes back by itself.", x.ID, x.Gone.Ago.Round(time.Millisecond), x.Version)
	case x.Gone != nil && x.Gone.Orderly:
		say("%v said goodbye %v ago, with code %d, as version %v.", x.ID, x.Gone.Ago.Round(time.Millisecond), x.Gone.Code, x.Version)
	case x.Gone != nil:
		why := "enough nodes suspected it"
		switch {
		case x.Gone.Cause == zone.Corrected:
			why = "a neighbour had removed it"
		case len(x.Gone.By) > 0:
			why = zoneWitnesses(x.Gone.By)
		}
		say("%v was removed %v ago, as version %v: %s.", x.ID, x.Gone.Ago.Round(time.Millisecond), x.Version, why)
		say("If it runs it comes back by itself: see 'gossipctl zone status' there.")
	case x.State == "member":
		say("%v is a member, in version %v; its attributes are at version %d.", x.ID, x.Version, x.Tables)
	default:
		say("Nothing is known of %v.", x.ID)
	}
	switch l := x.Link; {
	case l != nil && l.NeverHeard:
		say("The link to it is %s (%s); nothing ever came from it. 'gossipctl zone remove' removes it, if it does not exist.", l.State, zonemod.LinkRoles(l))
	case l != nil:
		say("The link to it is %s (%s); it was heard of %v ago.", l.State, zonemod.LinkRoles(l), l.Heard.Round(time.Millisecond))
	case x.State == "member":
		say("This node has no link to it: others watch it.")
	}
	for i := range x.Suspicions {
		s := &x.Suspicions[i]
		not := ""
		if !s.Counts {
			not = ", which does not count: that node suspects too many"
		}
		why := "connections to it fail"
		if s.Silent {
			why = "nothing is heard of it"
		}
		say("%v suspects it in version %v, since %s%s. With reports of %s it is removed.", s.Reporter, s.Version, why, not, cli.Count(s.Needed, "node", "nodes"))
	}
	return nil
}
