package main

import (
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/recovery"
)

func globalCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "global", Short: "Settings of the whole node"}
	var verbose bool
	show := &cobra.Command{
		Use:   "show",
		Short: "Show the settings that 'lnetctl set' changes",
		Long: `Shows the settings of the whole node with the keys of the kernel's tool. lnd_timeout
is what follows for drivers: (transaction_timeout - 1) / (retry_count + 1) seconds.`,
		Example: "  lnetctl global show",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := node.OpStatus.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			if err := downError(s); err != nil {
				return plainError("show", "global", -int(syscall.ENETDOWN), `"cannot get numa_range: Unknown error -100"`, err)
			}
			settings := node.GlobalTree(s)
			if !verbose {
				settings = settings.KernelsOwn()
			}
			return g.print(c, map[string]*tree.Global{"global": settings})
		},
	}
	show.Flags().BoolVarP(&verbose, "verbose", "v", false, "also the module parameters of routes for which the kernel's tool has no key")
	c.AddCommand(show)
	return c
}

func debugCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "debug", Short: "Inner state of the node"}
	c.AddCommand(debugRecovery(g), debugPeer(g), debugNIDList(g))
	return c
}

func debugRecovery(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "recovery --local|--peer",
		Short: "Show the interfaces that are pinged until they are well",
		Long: `Shows the interfaces whose health is below 1000 and that are pinged for that: those of
this node, or those of peers. 'net show -v 2' and 'peer show -v 2' have their health. Without
any it prints nothing, as the kernel's tool.`,
		Example: "  lnetctl debug recovery --peer",
		Args:    cli.Args(),
	}
	local := c.Flags().BoolP("local", "l", false, "interfaces of this node")
	peer := c.Flags().BoolP("peer", "p", false, "interfaces of peers")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *local == *peer {
			return cli.Usagef("debug recovery takes --local or --peer")
		}
		s, err := node.OpStatus.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		title, list := "Local NI recovery", s.Recovery.Local
		if *peer {
			title, list = "Peer NI recovery", s.Recovery.Peers
		}
		return printRecovery(c, g, title, list)
	}
	return c
}

// printRecovery prints the text of the kernel's tool, or the whole state as JSON.
func printRecovery(c *cobra.Command, g *globals, title string, list []recovery.Status) error {
	if g.json {
		if list == nil {
			list = []recovery.Status{}
		}
		return cli.JSON(c.OutOrStdout(), map[string][]recovery.Status{"recovery": list})
	}
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(c.OutOrStdout(), "%s:\n", title)
	for i, s := range list {
		fmt.Fprintf(c.OutOrStdout(), "      nid-%d: %v\n", i, s.NID)
	}
	return nil
}
