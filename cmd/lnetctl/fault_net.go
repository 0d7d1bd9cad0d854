package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/faultflags"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

// faultKind returns the command for LNet's drop rules, or for its delay rules.
func faultKind(g *globals, k faultrule.Kind) *cobra.Command {
	c := &cobra.Command{
		Use:   k.String(),
		Short: map[faultrule.Kind]string{faultrule.Drop: "LNet's drop rules, as the kernel has them", faultrule.Delay: "LNet's delay rules, as the kernel has them"}[k],
		Long: `Manages the ` + k.String() + ` rules of LNet, in the grammar of Lustre's lnetctl. The newest
rule is asked first, and the first that fires wins.`,
	}
	c.AddCommand(faultKindAdd(g, k), faultKindDel(g, k), faultKindReset(g, k), faultKindShow(g, k))
	return c
}

// faultFlags are the flags by which a rule is added.
type faultFlags struct {
	faultflags.Flags
	interval, latency timeoutValue
}

func faultKindAdd(g *globals, k faultrule.Kind) *cobra.Command {
	f := new(faultFlags)
	c := &cobra.Command{
		Use:     "add -s NID -d NID (-r N | -i SECONDS)",
		Short:   fmt.Sprintf("Add a %v rule", k),
		Long:    faultAddHelp[k],
		Example: faultAddExample[k],
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			f.Interval, f.Latency = f.interval.value, f.latency.value
			a, err := f.Attr()
			if err == nil {
				err = a.Validate(k)
			}
			if err != nil {
				return f.badRule(k, err)
			}
			return ruleRefused(k, "add", node.OpAddFaultRule.Call(c.Context(), g.client(), node.AddFaultRule{Kind: k, Attr: a}))
		},
	}
	f.add(c, k)
	return c
}

var faultAddHelp = map[faultrule.Kind]string{
	faultrule.Drop: `Adds a rule that drops messages which arrive from a source for a destination, or,
with --health_error, makes messages fail that are sent, as if the network had
failed in that way; LNet then sends them again where it may. NIDs are those in
the header of the message: a NID, *@NET, or *.

One of so many messages is hit (--rate), or one in so many seconds (--interval);
with --random a coin decides for each, with --drop_all each is hit.`,
	faultrule.Delay: `Adds a rule that delays messages from a source to a destination, which are sent
or arrive, for some seconds (--latency). NIDs are those in the header of the
message: a NID, *@NET, or *. One of so many messages is hit (--rate), or one in
so many seconds (--interval).`,
}

var faultAddExample = map[faultrule.Kind]string{
	faultrule.Drop: `  lnetctl fault drop add -s '*@tcp' -d 10.0.0.2@tcp -r 10 -m GET
  lnetctl fault drop add -s '*@tcp' -d '*@tcp' -i 5 -e local_dropped`,
	faultrule.Delay: `  lnetctl fault delay add -s '*' -d '*' -r 10 -l 2`,
}

// add adds the flags to a command, with the names of the kernel's tool.
func (f *faultFlags) add(c *cobra.Command, k faultrule.Kind) {
	flags := c.Flags()
	flags.StringVarP(&f.Source, "source", "s", "", "messages from this `NID`, *@NET or *")
	flags.StringVarP(&f.Dest, "dest", "d", "", "messages to this `NID`, *@NET or *")
	flags.Uint32VarP(&f.Rate, "rate", "r", 0, "one of `N` messages")
	f.interval.none, f.latency.none = true, true
	flags.VarP(&f.interval, "interval", "i", "one message in so many seconds")
	flags.StringSliceVarP(&f.Portals, "portal", "p", nil, "PUTs and GETs to this `PORTAL`; several are separated by commas")
	flags.StringSliceVarP(&f.Types, "message", "m", nil, "messages of this `TYPE`, PUT, ACK, GET or REPLY; several are separated by commas")
	if k == faultrule.Delay {
		flags.VarP(&f.latency, "latency", "l", "how long they wait; a bare number is seconds")
		return
	}
	flags.StringSliceVarP(&f.Errors, "health_error", "e", nil, "sends fail with this `CLASS` of failure, such as local_dropped or remote_timeout, or random")
	flags.StringVarP(&f.Local, "local_nid", "n", "", "messages by the local interface with this `NID`, *@NET or *")
	flags.BoolVar(&f.Random, "random", false, "a coin decides for each message")
	flags.BoolVar(&f.All, "drop_all", false, "each message")
}

func faultKindDel(g *globals, k faultrule.Kind) *cobra.Command {
	var source, dest string
	var all, cancel bool
	c := &cobra.Command{
		Use:   "del [-s NID] [-d NID] | --all",
		Short: fmt.Sprintf("Remove %v rules", k),
		Long: fmt.Sprintf(`Removes the %v rules with exactly this source and destination, as 'show' prints
them, and prints how many there were. Without one of the two, rules with any
are removed.`, k),
		Example: fmt.Sprintf("  lnetctl fault %v del -s '*@tcp' -d 10.0.0.2@tcp\n  lnetctl fault %v del --all", k, k),
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if all == (source+dest != "") {
				return cli.Usagef("fault %v del needs --source, --dest or both, or --all", k)
			}
			r := node.RemoveFaultRules{Kind: k, Cancel: cancel}
			var err error
			if r.Source, r.Dest, err = (&faultflags.Flags{Source: source, Dest: dest}).NIDs(nid.Any()); err != nil {
				return cli.Usagef("%w", err)
			}
			removed, err := node.OpRemoveFaultRules.Call(c.Context(), g.client(), r)
			if err != nil {
				return ruleRefused(k, "delete", err)
			}
			return g.print(c, map[string]node.RemovedFaultRules{"removed": removed})
		},
	}
	c.Flags().StringVarP(&source, "source", "s", "", "rules with this source `NID`")
	c.Flags().StringVarP(&dest, "dest", "d", "", "rules with this destination `NID`")
	c.Flags().BoolVarP(&all, "all", "a", false, "all rules")
	if k == faultrule.Delay {
		c.Flags().BoolVar(&cancel, "cancel", false, "messages that wait are dropped, with ECANCELED for their senders here, instead of going on")
	}
	return c
}

func faultKindReset(g *globals, k faultrule.Kind) *cobra.Command {
	return &cobra.Command{
		Use:     "reset",
		Short:   fmt.Sprintf("Clear the counters of all %v rules, and draw anew which messages they hit", k),
		Example: fmt.Sprintf("  lnetctl fault %v reset", k),
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return node.OpResetFaultRules.Call(c.Context(), g.client(), node.ResetFaultRules{Kind: k})
		},
	}
}
