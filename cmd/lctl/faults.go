package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/faultflags"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

func faultAdd(g *globals, k faultrule.Kind) *cobra.Command {
	var f faultflags.Flags
	var interval, latency uint32
	c := &cobra.Command{
		Use:   fmt.Sprintf("net_%v_add -s NID -d NID (-r N | -i SECONDS)", k),
		Short: fmt.Sprintf("Add a %v rule", k),
		Long: fmt.Sprintf(`Adds a %v rule about messages from a source to a destination, which are a NID,
*@NET or *. One of so many messages is hit (--rate), or one in so many seconds
(--interval). 'lnetctl fault %v add' has more.`, k, k),
		Example: fmt.Sprintf("  lctl net_%v_add -s '*@tcp' -d 10.0.0.2@tcp -r 10 -m GET%s", k, map[faultrule.Kind]string{faultrule.Delay: " -l 2"}[k]),
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			f.Interval, f.Latency = time.Duration(interval)*time.Second, time.Duration(latency)*time.Second
			a, err := f.Attr()
			if err == nil {
				err = a.Validate(k)
			}
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if err := node.OpAddFaultRule.Call(c.Context(), g.client(), node.AddFaultRule{Kind: k, Attr: a}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "Added %v rule %s->%s (1/%d)\n", k, faultrule.FormatNID(a.Source), faultrule.FormatNID(a.Dest), a.Rate)
			return err
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.Source, "source", "s", "", "messages from this `NID`, *@NET or *")
	flags.StringVarP(&f.Dest, "dest", "d", "", "messages to this `NID`, *@NET or *")
	flags.Uint32VarP(&f.Rate, "rate", "r", 0, "one of `N` messages")
	flags.Uint32VarP(&interval, "interval", "i", 0, "one message in so many `SECONDS`")
	flags.StringSliceVarP(&f.Portals, "portal", "p", nil, "PUTs and GETs to this `PORTAL`; several are separated by commas")
	flags.StringSliceVarP(&f.Types, "message", "m", nil, "messages of this `TYPE`, PUT, ACK, GET or REPLY; several are separated by commas")
	if k == faultrule.Delay {
		flags.Uint32VarP(&latency, "latency", "l", 0, "how many `SECONDS` they wait")
		return c
	}
	flags.StringSliceVarP(&f.Errors, "health_error", "e", nil, "sends fail with this `CLASS` of failure, such as local_dropped or remote_timeout, or random")
	flags.BoolVarP(&f.Random, "random", "n", false, "a coin decides for each message")
	return c
}

func faultDel(g *globals, k faultrule.Kind) *cobra.Command {
	var source, dest string
	var all bool
	c := &cobra.Command{
		Use:     fmt.Sprintf("net_%v_del [-s NID] [-d NID] | -a", k),
		Short:   fmt.Sprintf("Remove %v rules", k),
		Example: fmt.Sprintf("  lctl net_%v_del -a", k),
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if all == (source+dest != "") {
				return cli.Usagef("net_%v_del needs --source, --dest or both, or --all", k)
			}
			r := node.RemoveFaultRules{Kind: k}
			var err error
			if r.Source, r.Dest, err = (&faultflags.Flags{Source: source, Dest: dest}).NIDs(nid.Any()); err != nil {
				return cli.Usagef("%w", err)
			}
			removed, err := node.OpRemoveFaultRules.Call(c.Context(), g.client(), r)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "Removed %d %v rules\n", removed.Count, k)
			return err
		},
	}
	c.Flags().StringVarP(&source, "source", "s", "", "rules with this source `NID`")
	c.Flags().StringVarP(&dest, "dest", "d", "", "rules with this destination `NID`")
	c.Flags().BoolVarP(&all, "all", "a", false, "all rules")
	return c
}

func faultReset(g *globals, k faultrule.Kind) *cobra.Command {
	return &cobra.Command{
		Use:     fmt.Sprintf("net_%v_reset", k),
		Short:   fmt.Sprintf("Clear the counters of all %v rules", k),
		Example: fmt.Sprintf("  lctl net_%v_reset", k),
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return node.OpResetFaultRules.Call(c.Context(), g.client(), node.ResetFaultRules{Kind: k})
		},
	}
}

func faultList(g *globals, k faultrule.Kind) *cobra.Command {
	return cli.Question[[]faultrule.State]{
		Use: fmt.Sprintf("net_%v_list", k), Short: fmt.Sprintf("List the %v rules and what they did", k),
		Long: fmt.Sprintf(`Lists the %v rules, the newest first: source->destination (1/rate | seconds),
the bits of portals (ptl) and message types (msg), 0 for all, how many messages were
hit of those that match, and those that were hit by type.`, k),
		Example: fmt.Sprintf("  lctl net_%v_list", k), Args: cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]faultrule.State, error) {
			s, err := node.OpStatus.Call(ctx, g.client(), control.None{})
			rules := map[faultrule.Kind][]faultrule.State{faultrule.Drop: s.Faults.Plan.Drop, faultrule.Delay: s.Faults.Plan.Delay}[k]
			return append([]faultrule.State{}, rules...), err
		},
		Print: func(w io.Writer, rules []faultrule.State) error { return printRules(w, k, rules) },
	}.Command(&g.json)
}

func printRules(w io.Writer, k faultrule.Kind, rules []faultrule.State) error {
	fmt.Fprintf(w, "LNet %v rules:\n", k)
	for _, r := range rules {
		wait := ""
		if k == faultrule.Delay {
			wait = fmt.Sprintf(", latency %.0f", r.Latency.Seconds())
		}
		fmt.Fprintf(w, "%s->%s (1/%d | %.0f%s) ptl 0x%x, msg %x, %d/%d, PUT %d, ACK %d, GET %d, REP %d\n",
			faultrule.FormatNID(r.Source), faultrule.FormatNID(r.Dest), r.Rate, r.Interval.Seconds(), wait, uint64(r.Portals), uint8(r.Types),
			r.Stats.Hit, r.Stats.Matched, r.Stats.Put, r.Stats.Ack, r.Stats.Get, r.Stats.Reply)
	}
	fmt.Fprintf(w, "found total %d\n", len(rules))
	return nil
}
