package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// pingVerb is the verb ping with its flags.
type pingVerb struct {
	globals *globals
	timeout *timeoutValue
	source  string
	alone   *standalone
}

func pingCommand(g *globals) *cobra.Command {
	v := &pingVerb{globals: g}
	c := &cobra.Command{
		Use:   "ping NIDS...",
		Short: "Ask nodes for their interfaces",
		Long: `Asks each node for its interfaces. Commas separate NIDs, and brackets enclose numbers and
ranges: 10.0.0.[2-4,9]@tcp are four nodes. All NIDs are read before the first node is asked.`,
		Example: `  lnetctl ping 10.0.0.2@tcp 10.0.0.3@tcp
  lnetctl ping '10.0.0.[2-4]@tcp'
  lnetctl ping --standalone --networks 'tcp(eth0)' 10.0.0.2@tcp`,
		Args: cli.AtLeastOne("NID"),
		RunE: v.run,
	}
	v.timeout = timeoutFlag(c, "timeout", "t", "how long to wait for each answer, such as 500ms; a bare number is seconds")
	c.Flags().StringVarP(&v.source, "source", "s", "", "local `NID` to ping from")
	v.alone = addStandalone(c)
	return c
}

func (v *pingVerb) run(c *cobra.Command, args []string) error {
	targets, err := parseTargets("ping", args)
	if err != nil {
		return err
	}
	from, err := parseSource(v.source)
	if err != nil {
		return err
	}
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return err
	}
	defer stop()
	a := asked{globals: v.globals, verb: "ping", local: v.alone.on}
	return a.all(c, targets, func(target nid.ProcessID) (nodeDoc, error) {
		r, err := n.Ping(c.Context(), node.PingRequest{Target: target, Source: from, Timeout: v.timeout.value})
		return nodeDoc{Primary: r.Primary, MultiRail: r.MultiRail, NIs: niDocs(r.NIs)}, v.explain(c.Context(), err)
	}, "did not answer")
}

// explain gives an error of a ping that failed because LNet is not configured on the node the text of the
// kernel's tool.
func (v *pingVerb) explain(ctx context.Context, failed error) error {
	if !errors.Is(failed, syscall.ENETDOWN) || v.alone.on || !control.FromNode(failed) || ctx.Err() != nil {
		return failed
	}
	if s, err := node.OpStatus.Call(ctx, v.globals.client(), control.None{}); err != nil || !s.Unconfigured {
		return failed
	}
	return netlinkError("manage", "ping", -int(syscall.ENETDOWN), "Unspecific failure", failed)
}

// parseTarget parses a NID, or a pid and a NID as in 12345-10.0.0.2@tcp.
func parseTarget(s string) (nid.ProcessID, error) {
	id, err := nid.ParseProcessID(s)
	if err != nil {
		return id, cli.Usagef("%w", err)
	}
	if id.NID.IsAny() || !id.IsValid() {
		return id, cli.Usagef("%s is not one node", s)
	}
	return id, nil
}

// parseSource parses --source. If it is empty, LNet chooses the source.
func parseSource(s string) (nid.NID, error) { return parseNIDOf("source", s) }

// parseNIDOf parses the NID of an option. The NID of an option that is not given is the zero value.
func parseNIDOf(option, s string) (nid.NID, error) {
	if s == "" {
		return nid.NID{}, nil
	}
	id, err := parseNID(s)
	if err != nil {
		return id, cli.Usagef("--%s: %w", option, err)
	}
	return id, nil
}

// parseNID parses a NID of a network. It refuses texts such as "0@<0:0>", which package nid
// accepts.
func parseNID(s string) (nid.NID, error) {
	id, err := nid.Parse(s)
	if err == nil && !id.IsValid() {
		err = fmt.Errorf("%s is the NID of no network", s)
	}
	return id, err
}

func niDocs(nis []node.PingedNI) []pingNIDoc {
	docs := []pingNIDoc{}
	for _, ni := range nis {
		docs = append(docs, pingNIDoc{ni.NID})
	}
	return docs
}
