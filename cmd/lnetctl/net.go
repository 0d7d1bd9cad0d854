package main

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

func netCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "net", Short: "Networks and interfaces of the node"}
	c.AddCommand(netShow(g), netAdd(g), netDel(g), netSet(g))
	return c
}

func netShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [--net NET] [-v [LEVEL]]",
		Short: "Show networks and interfaces, and whose connections they accept",
		Long: `Shows the interfaces of the node by network, with the keys of the kernel's
tool; cause, for, accept, source_address, provider, listen, source_check (shown
where it is off), multicast, verbs, connections and reasons are ours. status is
what peers are told: with "down" cause says why. fatal_error is 1 when the link is
down, and messages take other interfaces. -v adds statistics, tunables, how long the status has been as it
is, if it ever changed, and what multicast there is and did, -v 2 statistics by type
of message and health, -v 3 the device of RDMA, connections, and why some were
refused or ended. --json prints the same keys.`,
		Example: "  lnetctl net show --net tcp -v 2",
	}
	level := addVerbose(c)
	only := c.Flags().StringP("net", "n", "", "only this `NET`, such as tcp or tcp1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := takeOnlyLevel(c, level, args); err != nil {
			return err
		}
		s, err := node.OpStatus.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		if err := downError(s); err != nil {
			return netlinkError("show", "net", -int(syscall.ENETDOWN), "Unspecific failure", err)
		}
		warnOfFaults(c.ErrOrStderr(), s)
		rules, err := g.rulesFor(c.Context(), *level)
		if err != nil {
			return err
		}
		return printNets(c, g, s, rules, *only, *level)
	}
	return c
}

// printNets prints all nets, or only one.
func printNets(c *cobra.Command, g *globals, s node.Status, rules udsp.List, only string, level int) error {
	docs := append([]tree.Net{}, node.NetTree(s, level, rules)...)
	if only != "" {
		want, err := nid.ParseNet(only)
		if err != nil {
			return netlinkError("show", "net", -2, "Object not found", cli.Usagef("--net: %w", err))
		}
		docs = slices.DeleteFunc(docs, func(d tree.Net) bool { return d.Type != want.String() })
		if len(docs) == 0 {
			err := cli.Hint(fmt.Errorf("the node has no interface on %v", want), "'lnetctl net show' lists its networks")
			return netlinkError("show", "net", -3, "Network is down", err)
		}
	}
	return g.print(c, map[string][]tree.Net{"net": docs})
}

// onlyCPT is the number, in Lustre's tool, of the CPU partition of a machine that has only one.
const onlyCPT = 0
