package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// discoverVerb is the verb discover with its flags.
type discoverVerb struct {
	globals *globals
	timeout *timeoutValue
	force   bool
	alone   *standalone
}

func discoverCommand(g *globals) *cobra.Command {
	v := &discoverVerb{globals: g}
	c := &cobra.Command{
		Use:   "discover NIDS...",
		Short: "Find out which interfaces nodes have, and tell them ours",
		Long: `Pings each node, notes which NIDs are one node's, and pushes to it what this
node is if it does not know that yet. The node does the same by itself before
its first message to another one, unless discovery is off.

A NID that a node lists counts as its own once the node at that NID, pinged
there, lists the first one too. Those that have not answered so far, or that no
NI of this node reaches, are shown as claimed. Commas separate NIDs, and brackets
enclose numbers and ranges, as in 10.0.0.[2-4]@tcp.`,
		Example: `  lnetctl discover 10.0.0.2@tcp
  lnetctl discover --force 10.0.0.2@tcp`,
		Args: func(c *cobra.Command, args []string) error {
			if err := cli.AtLeastOne("NID")(c, args); err != nil {
				return textError(exitNegative, err, "Missing nid argument").onStdout()
			}
			return nil
		},
		RunE: v.run,
	}
	c.Flags().BoolVarP(&v.force, "force", "f", false, "ping and push even if the node is known and knows us")
	v.timeout = timeoutFlag(c, "timeout", "", "how long to wait for each node, such as 500ms; a bare number is seconds (default lnet_transaction_timeout)")
	v.alone = addStandalone(c)
	return c
}

func (v *discoverVerb) run(c *cobra.Command, args []string) error {
	targets, err := parseTargets("discover", args)
	if err != nil {
		return err
	}
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return err
	}
	defer stop()
	a := asked{globals: v.globals, verb: "discover", local: v.alone.on}
	return a.all(c, targets, func(target nid.ProcessID) (nodeDoc, error) {
		r, err := n.Discover(c.Context(), node.DiscoverRequest{Target: target.NID, Force: v.force, Timeout: v.timeout.value})
		return nodeDoc{r.Primary, r.MultiRail, niDocs(r.NIs), niDocs(r.Claimed)}, err
	}, "could not be discovered")
}
