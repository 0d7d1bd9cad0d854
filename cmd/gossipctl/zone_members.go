package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneMembersCommand(g *globals) *cobra.Command {
	var filter zonemod.MemberFilter
	c := cli.Question[[]zonemod.Member]{
		Use: "members [ZONE]", Short: "List the members of the zone, and who was one; or those of a base zone",
		Long: `Lists the members in the order of the ring, and after them the nodes that were some,
the last to go first, with when and why: as many as the zone remembers. Who comes
back is a member again, and no more among these. The states are

  member     it is there
  suspected  so many nodes miss it; it has not refuted that yet
  left       it said goodbye, with a code
  removed    an administrator removed it
  dead       enough nodes missed it: which ones is shown, whether their
             connections failed or they heard nothing, or that a neighbour
             had removed it

--state and --tag choose: REGEXP is for the whole of the state, or of the value of
an attribute. Of several --tag a node must have all; who is gone has none.

In the management zone it can name a base zone, and asks the supervisor of that,
who knows the members only.`,
		Example: "  gossipctl zone members\n  gossipctl zone members --tag role=mds --state member\n  gossipctl zone members --state 'left|dead'\n  gossipctl zone members rack7",
		Args:    cobra.MaximumNArgs(1),
		Ask: func(ctx context.Context, args []string) ([]zonemod.Member, error) {
			if len(args) == 0 {
				return listed(zonemod.OpMembers.Call(ctx, g.client(), filter))
			}
			if filter.State != "" || len(filter.Tags) > 0 {
				return nil, cli.Usagef("--state and --tag are for the own zone: of others neither is known")
			}
			named, err := zonemod.OpZone.Call(ctx, g.client(), zonemod.BaseZone{Zone: args[0]})
			list := []zonemod.Member{}
			for _, n := range named {
				list = append(list, zonemod.Member{MemberStatus: zone.MemberStatus{ID: n.ID, Version: n.Version}, State: "member"})
			}
			return list, err
		},
		Print: func(w io.Writer, list []zonemod.Member) error { return printZoneMembers(w, list, time.Now()) },
	}.Command(&g.json)
	c.Flags().StringVar(&filter.State, "state", "", "only those in a state that `REGEXP` matches: "+strings.Join(zonemod.MemberStates, ", "))
	c.Flags().StringArrayVar(&filter.Tags, "tag", nil, "only those with an attribute: `KEY`, or KEY=REGEXP (repeatable)")
	return c
}

func printZoneMembers(w io.Writer, list []zonemod.Member, now time.Time) error {
	var t cli.Table
	t.Row("NODE", "VERSION", "STATE", "ATTRIBUTES", "SUSPECTED BY")
	for i := range list {
		switch m := &list[i]; {
		case m.Gone != nil:
			t.Row(m.ID, m.Version, m.State, "-", "-", zoneGoneText(m, now))
		case m.Self:
			t.Row(m.ID, m.Version, m.State, m.Attributes, m.Reports, "(this node)")
		default:
			t.Row(m.ID, m.Version, m.State, m.Attributes, m.Reports)
		}
	}
	return t.Print(w)
}

// zoneGoneText returns when and why a former member left.
func zoneGoneText(m *zonemod.Member, now time.Time) string {
	text := fmt.Sprintf("%v ago", now.Sub(m.Gone.Time).Round(time.Second))
	switch {
	case m.State == "left":
		text += fmt.Sprintf(", with code %d", m.Gone.Code)
	case m.Gone.Cause == zone.Corrected:
		text += ", as a neighbour had removed it"
	case len(m.Gone.By) > 0:
		text += ", " + zoneWitnesses(m.Gone.By)
	}
	return text
}

// zoneWitnesses returns which nodes reported a member as dead, and why.
func zoneWitnesses(list []zone.Witness) string {
	var reset, silent []string
	for _, w := range list {
		if w.Silent {
			silent = append(silent, w.ID.Name())
		} else {
			reset = append(reset, w.ID.Name())
		}
	}
	var why []string
	if len(reset) > 0 {
		why = append(why, "connections failed at "+strings.Join(reset, ", "))
	}
	if len(silent) > 0 {
		why = append(why, "nothing heard at "+strings.Join(silent, ", "))
	}
	return strings.Join(why, "; ")
}
