package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// discoverVerb is discover with its flags.
type discoverVerb struct {
	globals *globals
	timeout *timeoutValue
	force   bool
	alone   *standalone
}

func discoverCommand(g *globals) *cobra.Command {
	v := &discoverVerb{globals: g}
	c := &cobra.Command{
		Use:   "discover NID...",
		Short: "Find out which interfaces nodes have, and tell them ours",
		Long: `Pings each node, notes which NIDs are one node's, and pushes to it what this
node is if it does not know that yet. The node does the same by itself before
its first message to another one, unless discovery is off.`,
		Example: `  lnetctl discover 10.0.0.2@tcp
  lnetctl discover --force 10.0.0.2@tcp`,
		Args: cli.AtLeastOne("NID"),
		RunE: v.run,
	}
	c.Flags().BoolVar(&v.force, "force", false, "ping and push even if the node is known and knows us")
	v.timeout = timeoutFlag(c, "timeout", "how long to wait for each node, such as 5s; a bare number is milliseconds (default lnet_transaction_timeout)")
	v.alone = addStandalone(c)
	return c
}

func (v *discoverVerb) run(c *cobra.Command, args []string) error {
	var targets []nid.NID
	for _, arg := range args {
		target, err := parseTarget(arg)
		if err != nil {
			return err
		}
		targets = append(targets, target.NID)
	}
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return err
	}
	defer stop()
	var out discoverOutput
	for _, target := range targets {
		reply, err := n.Discover(c.Context(), node.DiscoverRequest{Target: target, Force: v.force, Timeout: v.timeout.value})
		if c.Context().Err() != nil {
			return errInterrupted
		}
		if err != nil && !v.alone.on && !control.FromNode(err) {
			return err
		}
		out.add(target, reply, err)
	}
	if err := cli.Print(c.OutOrStdout(), v.globals.json, out); err != nil {
		return err
	}
	return out.failure(len(targets))
}

// discoverOutput has the keys of the kernel's tool.
type discoverOutput struct {
	Discover []discoverDoc     `json:"discover,omitempty"`
	Manage   []undiscoveredDoc `json:"manage,omitempty"` // what failed

	hints []string // what to do about it, each once
}

type discoverDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []pingNIDoc `json:"peer ni"`
}

type undiscoveredDoc struct {
	Discover failureDoc `json:"discover"`
}

func (o *discoverOutput) add(target nid.NID, reply node.DiscoverReply, err error) {
	if err != nil {
		errno, ok := errors.AsType[syscall.Errno](err)
		if !ok {
			errno = syscall.EIO
		}
		why := strings.TrimPrefix(err.Error(), fmt.Sprintf("discover %v: ", target))
		o.Manage = append(o.Manage, undiscoveredDoc{failureDoc{-int(errno), fmt.Sprintf("failed to discover %v: %s", target, why)}})
		if hint := cli.HintOf(err); hint != "" && !slices.Contains(o.hints, hint) {
			o.hints = append(o.hints, hint)
		}
		return
	}
	doc := discoverDoc{Primary: reply.Primary, MultiRail: reply.MultiRail, NIs: []pingNIDoc{}}
	for _, ni := range reply.NIs {
		doc.NIs = append(doc.NIs, pingNIDoc{ni.NID})
	}
	o.Discover = append(o.Discover, doc)
}

// failure is the error of a command that asked so many nodes.
func (o *discoverOutput) failure(asked int) error {
	failed := len(o.Manage)
	if failed == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%d of %d nodes could not be discovered", failed, asked), "%s", strings.Join(o.hints, "\n  "))
}
