package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

func pingCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "ping {--session | --group GROUP | --batch BATCH [--server] | --nodes NIDS}", Short: "Ask test nodes for their sessions",
		Long: `Asks test nodes which session they have. A node is Active in the session of this
console, Busy in that of another console, Down if it was active and does not answer,
and Unknown without a session or an answer.`,
		Example: "  lst ping --group servers\n  lst ping --nodes 10.0.0.[2-9]@tcp",
		Args:    cli.Args(), Annotations: usageText("ping  [--group NAME] [--batch NAME] [--session]  [--nodes IDS]"),
	}
	var to console.Target
	var nodes []string
	c.Flags().BoolVarP(&to.Session, "session", "s", false, "all nodes of the session")
	c.Flags().StringVarP(&to.Group, "group", "g", "", "the nodes of a `GROUP`")
	c.Flags().StringVarP(&to.Batch, "batch", "b", "", "the clients of a `BATCH`")
	c.Flags().BoolVarP(&to.Server, "server", "v", false, "with --batch: its servers")
	c.Flags().StringArrayVarP(&nodes, "nodes", "n", nil, "nodes, such as 10.0.0.[2-9]@tcp, as `NIDS`; may be repeated")
	timeout := c.Flags().StringP("timeout", "t", "5", "wait so many `SECONDS` for each node, 3 to 30")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !to.Session && to.Group == "" && to.Batch == "" && len(nodes) == 0 {
			return errMissing
		}
		wait, err := seconds(*timeout, "timeout")
		if err != nil {
			return err
		}
		if to.Nodes, err = expandAll(nodes); err != nil {
			return err
		}
		answers, err := g.pingNodes(c.Context(), to, wait)
		if errors.Is(err, errEmpty) {
			return g.emptyTarget(c, to)
		}
		if err != nil {
			return err
		}
		if g.json {
			err = cli.JSON(c.OutOrStdout(), newAnswersDoc(answers))
		} else {
			printPing(c.OutOrStdout(), answers)
		}
		return cmp.Or(err, silent(pingCode(answers)))
	}
	return c
}

// errEmpty says that there is no node to ask.
var errEmpty = errors.New("no nodes")

// pingNodes asks nodes, not too many with one request to the daemon.
func (g *globals) pingNodes(ctx context.Context, to console.Target, wait time.Duration) (all []console.Answer, err error) {
	for _, part := range parts(to) {
		answers, err := selftest.OpPing.Call(ctx, g.client(), selftest.AskRequest{Key: g.key(), Target: part, Timeout: wait})
		if errno, ok := errnoOf(err); ok && to.Group != "" && (errno == syscall.ENOENT || errno == syscall.ESRCH) {
			return nil, errEmpty
		}
		switch {
		case err != nil && to.Batch != "":
			return nil, plainRefusal(err, "Failed to get count of nodes from "+to.Batch)
		case err != nil:
			return nil, refusal(err, "debug", "Failed to ping "+nameOf(to))
		}
		all = append(all, answers...)
	}
	if len(all) == 0 {
		return nil, errEmpty
	}
	return all, nil
}

// parts splits a target with many nodes.
func parts(to console.Target) []console.Target {
	if len(to.Nodes) == 0 {
		return []console.Target{to}
	}
	var list []console.Target
	for nodes := range slices.Chunk(to.Nodes, perRequest) {
		part := to
		part.Nodes = nodes
		list = append(list, part)
	}
	return list
}

// nameOf returns the name of a target.
func nameOf(to console.Target) string {
	switch {
	case to.Group != "":
		return to.Group
	case to.Batch != "":
		return to.Batch
	case to.Session:
		return "session"
	}
	return "nodes"
}

// emptyTarget says that a target has no node.
func (g *globals) emptyTarget(c *cobra.Command, to console.Target) error {
	if g.json {
		return cli.JSON(c.OutOrStdout(), newAnswersDoc(nil))
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "Target %s is empty\n", nameOf(to))
	if err == nil && to.Group != "" && g.hasNoGroup(c.Context()) {
		_, err = io.WriteString(c.ErrOrStderr(), noObject)
	}
	return err
}

// hasNoGroup reports whether the console has no group at all. In that case Lustre's tool prints an
// error line, because it cannot read the list of groups.
func (g *globals) hasNoGroup(ctx context.Context) bool {
	list, err := selftest.OpGroups.Call(ctx, g.client(), control.None{})
	return errors.Is(err, syscall.ESRCH) || err == nil && len(list) == 0
}

// pingCode returns the exit code of ping: only nodes that have not answered count.
func pingCode(answers []console.Answer) int {
	if code := codeOf(answers); code == rpcError {
		return code
	}
	return cli.OK
}

func printPing(w io.Writer, answers []console.Answer) {
	for i := range answers {
		a := &answers[i]
		name := "<NULL>"
		if a.Failed == 0 && (a.State == console.Active || a.State == console.Busy) {
			name = shown(a.Name)
		}
		fmt.Fprintf(w, "\t%v: %s [session: %s id: %v]\n", a.ID, stateText(a.State), name, a.Session.Console)
	}
}
