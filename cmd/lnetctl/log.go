package main

import (
	"context"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
)

func logCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "log", Short: "The log of the daemon"}
	c.AddCommand(logShow(g), logLevel(g))
	return c
}

func logShow(g *globals) *cobra.Command {
	return cli.Question[daemon.LogStatus]{
		Use: "show", Short: "Show from which level on the daemon logs, and in which format",
		Example: "  lnetctl log show",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (daemon.LogStatus, error) {
			return daemon.OpLog.Call(ctx, g.client(), control.None{})
		},
	}.Command(&g.json)
}

func logLevel(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "level debug|info|warn|error",
		Short: "Change from which level on the daemon logs",
		Long: `Changes the level of the log until the daemon ends, or reads its configuration again and
that has another level than before. Level debug has a line for each change of a state,
but none for a message: 'lnetdump' shows messages.`,
		Example:   "  lnetctl log level debug",
		Args:      cli.Args("debug, info, warn or error"),
		ValidArgs: []string{"debug", "info", "warn", "error"},
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := config.ParseLevel(args[0]); err != nil {
				return cli.Usagef("%w", err)
			}
			return daemon.OpLogLevel.Call(c.Context(), g.client(), daemon.LogLevel{Level: args[0]})
		},
	}
	return c
}
