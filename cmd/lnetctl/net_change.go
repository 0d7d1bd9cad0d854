package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

func netAdd(g *globals) *cobra.Command {
	var net string
	var interfaces []string
	c := &cobra.Command{
		Use:   "add --net NET --if INTERFACE",
		Short: "Start a network on an interface of the running node",
		Long: `Starts a network on one or several interfaces, or addresses, of the running
node, until it ends or 'net del' stops it; its configuration stays as it is.
Peers that the node has discovered are told.`,
		Example: "  lnetctl net add --net tcp1 --if eth1",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := nid.ParseNet(net); err != nil {
				return cli.Usagef("--net: %w", err)
			}
			list := net + "(" + strings.Join(interfaces, ",") + ")"
			if _, err := networks.Parse(list); err != nil {
				return cli.Usagef("--if: %w", err)
			}
			return node.OpAddNetworks.Call(c.Context(), g.client(), node.AddRequest{Networks: list})
		},
	}
	c.Flags().StringVar(&net, "net", "", "`NET` to start, such as tcp1")
	c.Flags().StringSliceVar(&interfaces, "if", nil, "`INTERFACE` or local address; several are separated by commas")
	for _, name := range []string{"net", "if"} {
		_ = c.MarkFlagRequired(name) // the flag exists
	}
	return c
}

func netDel(g *globals) *cobra.Command {
	var net string
	c := &cobra.Command{
		Use:   "del --net NET",
		Short: "Stop a network of the running node",
		Long: `Stops all interfaces of a network. What waits to be sent there may leave before,
for a few seconds. Peers that the node has discovered are told.`,
		Example: "  lnetctl net del --net tcp1",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := nid.ParseNet(net); err != nil {
				return cli.Usagef("--net: %w", err)
			}
			return node.OpRemoveNet.Call(c.Context(), g.client(), node.RemoveRequest{Net: net})
		},
	}
	c.Flags().StringVar(&net, "net", "", "`NET` to stop, such as tcp1")
	_ = c.MarkFlagRequired("net") // the flag exists
	return c
}
