package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
)

func listStatusCommand(g *globals) *cobra.Command {
	return cli.Question[gossip.RollStatus]{
		Use: "status", Short: "Show how far a change of the list is",
		Long: `Shows how far a change of the list is, as the others themselves have told this
node, which hears from about two of them in each cycle. Who is alive and keeps
the change from going on is named first; so are those that are not alive, if they
are half of the new list or more. Nodes that join are alive once they are heard.`,
		Example: "  gossipctl list status",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (gossip.RollStatus, error) {
			return gossipmod.OpListStatus.Call(ctx, g.client(), control.None{})
		},
		Print: printListStatus,
	}.Command(&g.json)
}

func printListStatus(w io.Writer, s gossip.RollStatus) error {
	var table cli.Table
	switch missing, away := s.Missing(), s.NotAlive(); {
	case !s.Staged && !s.Committed:
		fmt.Fprintf(w, "%d participants, no change under way\n", s.N)
		return nil
	case s.Committed:
		fmt.Fprintf(w, "%d participants, committed here; the old list is understood until all that are alive have committed\n", s.N)
	case len(missing) > 0:
		fmt.Fprintf(w, "%d participants, a list of %d is staged here; not known to have staged it: %v\n", s.N, s.NewN, missing)
	case 2*len(away) >= s.NewN:
		fmt.Fprintf(w, "%d participants, a list of %d is staged here and by all that are alive; half of it or more is not alive: %v\n", s.N, s.NewN, away)
	default:
		fmt.Fprintf(w, "%d participants, a list of %d is staged here and by all that are alive: 'gossipctl list commit' on all\n", s.N, s.NewN)
	}
	table.Row("NID", "STATE", "HEALTH")
	for _, m := range s.Members {
		cells := []any{m.NID, m.State, m.Health}
		switch {
		case m.Joins:
			cells = append(cells, "joins")
		case m.Leaves:
			cells = append(cells, "leaves")
		}
		table.Row(cells...)
	}
	return table.Print(w)
}
