package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
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
	out := discoverOutput{failed: failures{verb: "discover"}}
	for _, process := range targets {
		target := process.NID
		reply, err := n.Discover(c.Context(), node.DiscoverRequest{Target: target, Force: v.force, Timeout: v.timeout.value})
		if c.Context().Err() != nil {
			return out.before(c, v.globals, errInterrupted)
		}
		if err != nil && !v.alone.on && !control.FromNode(err) {
			return out.before(c, v.globals, err)
		}
		out.add(target, reply, err)
	}
	if err := v.globals.print(c, out); err != nil {
		return err
	}
	return out.failed.err(len(targets), "could not be discovered")
}

// discoverOutput has the keys of the kernel's tool.
type discoverOutput struct {
	Discover []discoverDoc     `json:"discover,omitempty"`
	Manage   []undiscoveredDoc `json:"manage,omitempty"` // targets that could not be discovered

	failed failures
}

type discoverDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []pingNIDoc `json:"peer_ni"`
	Claimed   []pingNIDoc `json:"claimed ni,omitempty"` // ulnet's addition: NIs that the peer claims without confirmation
}

type undiscoveredDoc struct {
	Discover *struct{} `json:"discover"`
	failureDoc
}

// before prints the answers that came before an error ended the command, if there are any, and returns the error.
func (o *discoverOutput) before(c *cobra.Command, g *globals, err error) error {
	if len(o.Discover)+len(o.Manage) == 0 {
		return err
	}
	return cmp.Or(g.print(c, o), err)
}

func (o *discoverOutput) add(target nid.NID, reply node.DiscoverReply, err error) {
	if err != nil {
		o.Manage = append(o.Manage, undiscoveredDoc{nil, o.failed.add(target, err)})
		return
	}
	o.Discover = append(o.Discover, discoverDoc{reply.Primary, reply.MultiRail, niDocs(reply.NIs), niDocs(reply.Claimed)})
}
