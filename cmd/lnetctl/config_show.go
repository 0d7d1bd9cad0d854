package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
)

func configShow(g *globals) *cobra.Command {
	var all bool
	c := cli.Question[[]config.Value]{
		Use: "show [--all]", Short: "Show the configuration that counts in the running daemon, and where each value comes from",
		Long: `Shows the keys of lnetd's configuration with the values that count now, and where each
comes from: the line of a file, a flag, a variable of the environment, or a command that
has changed it at run time. Keys with their defaults are shown with --all, and in JSON.
NEXT is another value that a file has since, for keys that do not change at run time:
it counts after a restart. Long values are shown whole in JSON.`,
		Example: "  lnetctl config show\n  lnetctl config show --all | grep gossip",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]config.Value, error) {
			return daemon.OpConfig.Call(ctx, g.client(), control.None{})
		},
		Print: func(w io.Writer, list []config.Value) error { return printValues(w, list, all) },
	}.Command(&g.json)
	c.Flags().BoolVar(&all, "all", false, "show keys with their defaults, too")
	return c
}

// printValues prints values as a table: all, or those that are not defaults.
func printValues(w io.Writer, list []config.Value, all bool) error {
	var t cli.Table
	t.Row("KEY", "VALUE", "FROM", "NEXT")
	for _, v := range list {
		if v.Origin == config.FromDefault && v.Next == nil && !all {
			continue
		}
		next := "-"
		if v.Next != nil {
			next = config.Shown(*v.Next)
		}
		t.Row(v.Key, config.Shown(v.Value), cmp.Or(v.From, string(config.FromDefault)), next)
	}
	return t.Print(w)
}
