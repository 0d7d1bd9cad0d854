package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/scoll"
)

func (g *globals) client() *control.Client { return control.NewClient(g.socket).WarnTo(g.stderr) }

// audience says which members a verb asks, and how long the verb waits.
type audience struct {
	group, tree string
	live        bool
	timeout     time.Duration
}

// addAudience adds the flags of an audience to a verb.
func addAudience(c *cobra.Command, timeout time.Duration) *audience {
	a := new(audience)
	f := c.Flags()
	f.StringVar(&a.group, "group", scoll.AllGroup, "`NAME` of the group, see 'scollctl group list'")
	f.StringVar(&a.tree, "tree", "", "another `TREE` than the group's: binomial, flat, 'k-nomial K' or 'k-ary K'")
	f.BoolVar(&a.live, "live", false, "leave out members who are dead, as gossip knows")
	f.DurationVar(&a.timeout, "timeout", timeout, "`TIME` that a member may take; the tree takes more, see rtt of lnetd's configuration")
	return a
}

// check refuses values that the daemon would refuse.
func (a *audience) check() error {
	if a.timeout < time.Millisecond {
		return cli.Usagef("--timeout: want a time from 1ms, not %v", a.timeout)
	}
	if a.tree != "" {
		if _, err := config.ParseTree(a.tree); err != nil {
			return cli.Usagef("--tree: %w", err)
		}
	}
	return nil
}

func (a *audience) request(verb string) scoll.BroadcastRequest {
	return scoll.BroadcastRequest{Group: a.group, Tree: a.tree, Live: a.live, Verb: verb, TimeoutMS: a.timeout.Milliseconds()}
}

// askCommand returns a verb that asks all members a question.
func askCommand(g *globals, name, short, long string, show func(io.Writer, *scoll.BroadcastReply) error) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Long: long + "\n\n" + unreachedHelp, Args: cli.Args(),
		Example: fmt.Sprintf("  scollctl %s\n  scollctl %s --group storage --live --json", name, name),
	}
	a := addAudience(c, 5*time.Second)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.check(); err != nil {
			return err
		}
		return g.broadcast(c.Context(), c.OutOrStdout(), a.request(name), nil, show)
	}
	return c
}

// unreachedHelp is the part of the help about members that were not reached.
const unreachedHelp = `Members whose answer did not arrive are listed, each with the reason, and the exit
code is 1 then; they may have done what they were asked for.`

// broadcast makes the daemon send a broadcast, shows the result, and returns an error if members
// did not answer or answered with an error.
func (g *globals) broadcast(ctx context.Context, w io.Writer, r scoll.BroadcastRequest, bulk io.Reader, show func(io.Writer, *scoll.BroadcastReply) error) error {
	reply, err := scoll.OpBroadcast.CallWith(ctx, g.client(), r, bulk)
	if err != nil {
		return err
	}
	err = cli.Show(w, g.json, &reply, func(w io.Writer, r *scoll.BroadcastReply) error { return printReply(w, r, show) })
	return cmp.Or(err, errorOf(&reply))
}

// errorOf returns the error of a broadcast, nil if all members have answered without an error.
func errorOf(r *scoll.BroadcastReply) error {
	members := len(r.Reached) + len(r.Unreached)
	switch r.Status {
	case scoll.BroadcastUnsent:
		return cli.Hint(errors.New("nobody was asked"), "--live leaves out members who are dead")
	case scoll.BroadcastIncomplete:
		return cli.Hint(fmt.Errorf("%d of %d members did not answer", len(r.Unreached), members), "see 'scollctl stats' and the log of lnetd there")
	case scoll.BroadcastFailed:
		bad := 0
		for i := range r.Answers {
			if failure(&r.Answers[i]) {
				bad++
			}
		}
		return fmt.Errorf("%d of %d members failed", bad, members)
	}
	return nil
}

// failure reports whether a member answered that it could not execute the request.
func failure(a *scoll.Answer) bool {
	return a.Error != "" || a.TimeOver || a.Exit != nil && *a.Exit != 0
}
