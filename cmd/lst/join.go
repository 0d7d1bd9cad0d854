package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	lnetselftest "ulnet/lnet/selftest"
)

func joinCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "join NID GROUP", Short: "Join the session of a console at another node",
		Long: `Has the node of this daemon join the session of the console at another node, of a
kernel or of lnetd, in a group of that console, which makes it if it is not there.
So a node takes part that the console does not name, or cannot reach by itself. The
node leaves the session when the console ends it, or is silent for 100 s. This
command needs no LST_SESSION.`,
		Example: "  lst join 10.0.0.1@tcp laptops",
		Args:    cli.Args("NID", "GROUP"),
		RunE: func(c *cobra.Command, args []string) error {
			ids, err := expand(args[0])
			if err != nil {
				return err
			}
			if len(ids) != 1 {
				return failf("%s names %d nodes: use the NID of one console", args[0], len(ids))
			}
			joined, err := selftest.OpJoin.Call(c.Context(), g.client(), selftest.JoinRequest{Console: ids[0], Group: args[1]})
			if err != nil {
				return fmt.Errorf("join %s: %w", args[0], err)
			}
			return cli.Show(c.OutOrStdout(), g.json, joined, printJoined)
		},
	}
}

func printJoined(w io.Writer, joined lnetselftest.Joined) error {
	_, err := fmt.Fprintf(w, "Joined session %s of %v in group %s\n", shown(joined.Name), joined.Session.Console, joined.Group)
	return err
}
