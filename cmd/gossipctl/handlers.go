package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/node"
)

func handlersCommand(g *globals) *cobra.Command {
	c := cli.Question[[]handlers.Status]{
		Use: "handlers", Short: "Show the programs that run when something happens",
		Long: `Shows the event handlers of lnetd's configuration (section handlers): how often the
program of each has run and failed, events that were missed because it was too
slow, events that wait for the next run, and how the last run ended. With --json
also its program and what it said.`,
		Example: "  gossipctl handlers\n  gossipctl handlers --json | jq '.[] | select(.failures > 0) | .last'\n  gossipctl handlers test failover",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]handlers.Status, error) {
			return listed(node.OpHandlers.Call(ctx, g.client(), control.None{}))
		},
		Print: printHandlers,
	}.Command(&g.json)
	c.AddCommand(handlersTestCommand(g))
	return c
}

func handlersTestCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "test HANDLER",
		Short: "Run the program of a handler on a test event",
		Long: `Runs the program of a handler, whatever events it is for, on an event whose source
and event are "test", as soon as its interval allows, together with events that
wait. It prints what the program said and how it ended, and fails if that did.`,
		Example: "  gossipctl handlers test failover",
		Args:    cli.Args("a handler"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := node.OpTestHandler.Call(c.Context(), g.client(), node.HandlerName{Name: args[0]})
			if err != nil {
				return err
			}
			if err = cli.Show(c.OutOrStdout(), g.json, &r, printRun); err == nil && r.Failed() {
				err = fmt.Errorf("the handler failed: %s", endOf(&r))
			}
			return err
		},
	}
}

func printHandlers(w io.Writer, list []handlers.Status) error {
	var t cli.Table
	t.Row("HANDLER", "ON", "RUNS", "FAILED", "EVENTS", "MISSED", "WAITING", "LAST")
	for i := range list {
		s := &list[i]
		t.Row(s.Name, strings.Join(s.On, ","), s.Runs, s.Failures, s.Events, s.Missed, s.Waiting, lastOf(s))
	}
	return t.Print(w)
}

// lastOf returns what a handler is doing, or how its last run ended.
func lastOf(s *handlers.Status) string {
	switch {
	case s.Running:
		return "running"
	case s.Problem != "":
		return s.Problem
	case s.Last == nil:
		return "never"
	}
	return s.Last.Began.Local().Format(timeLayout) + " " + endOf(s.Last)
}

// endOf describes how a run ended.
func endOf(r *handlers.Run) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.TimeOver:
		return fmt.Sprintf("time over after %d ms (exit %d)", r.TookMS, r.Exit)
	case r.Exit < 0:
		return fmt.Sprintf("ended by signal %d after %d ms", -r.Exit, r.TookMS)
	}
	return fmt.Sprintf("exit %d after %d ms", r.Exit, r.TookMS)
}

// printRun prints the output of a program. It returns an error if the run has failed.
func printRun(w io.Writer, r *handlers.Run) error {
	text := r.Output
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if !r.Failed() {
		text += endOf(r) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
