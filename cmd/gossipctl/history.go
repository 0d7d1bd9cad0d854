package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

// timeLayout is how times are printed: local, to the millisecond.
const timeLayout = "2006-01-02 15:04:05.000"

func historyCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "history [--last NUMBER]",
		Short: "Show the last changes, with times",
		Long: `Shows who died and came alive, and what else happened, the last change last: up to
1024 of them since the start, and as many of before the last stop.`,
		Example: "  gossipctl history --last 20",
		Args:    cli.Args(),
	}
	last := c.Flags().Int("last", 0, "only the last `NUMBER` of changes; 0: all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *last < 0 {
			return cli.Usagef("--last: want a number from 0, not %d", *last)
		}
		changes, err := gossip.OpHistory.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		if *last > 0 {
			changes = changes[max(len(changes)-*last, 0):]
		}
		return cli.Show(c.OutOrStdout(), g.json, changes, printChanges)
	}
	return c
}

func printChanges(w io.Writer, changes []gossip.Change) error {
	for _, change := range changes {
		fmt.Fprintln(w, changeLine(change))
	}
	return nil
}

// changeLine returns a change as a line of text.
func changeLine(c gossip.Change) string {
	line := fmt.Sprintf("%s  clock %-8d %-11v", c.Time.Local().Format(timeLayout), c.Clock, c.Event)
	if c.NID.IsValid() {
		line += " " + c.NID.String()
	}
	switch c.Aliveness {
	case 0:
	case 1:
		line += " (has died once)"
	default:
		line += fmt.Sprintf(" (has died %d times)", c.Aliveness)
	}
	return strings.TrimRight(line, " ")
}
