package main

import (
	"cmp"
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
	requests, err := pingRequests(args, v.source)
	if err != nil {
		return err
	}
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return err
	}
	defer stop()
	out := pingOutput{failed: failures{verb: "ping"}}
	for _, r := range requests {
		r.Timeout = v.timeout.value
		reply, err := n.Ping(c.Context(), r)
		if c.Context().Err() != nil {
			return out.before(c, v.globals, errInterrupted)
		}
		if err != nil && !v.alone.on && !control.FromNode(err) {
			return out.before(c, v.globals, err)
		}
		if down := v.down(c.Context(), err); down != nil {
			return out.before(c, v.globals, down)
		}
		out.add(r.Target.NID, reply, err)
	}
	if err := v.globals.print(c, out); err != nil {
		return err
	}
	return out.failed.err(len(requests), "did not answer")
}

// down returns the error of a ping that failed because LNet is not configured on the node, or
// nil if that is not the reason.
func (v *pingVerb) down(ctx context.Context, failed error) error {
	if !errors.Is(failed, syscall.ENETDOWN) || v.alone.on {
		return nil
	}
	if s, err := node.OpStatus.Call(ctx, v.globals.client(), control.None{}); err != nil || !s.Unconfigured {
		return nil
	}
	return netlinkError("manage", "ping", -int(syscall.ENETDOWN), "Unspecific failure", failed)
}

// pingRequests checks the arguments.
func pingRequests(args []string, source string) ([]node.PingRequest, error) {
	targets, err := parseTargets("ping", args)
	if err != nil {
		return nil, err
	}
	from, err := parseSource(source)
	if err != nil {
		return nil, err
	}
	requests := make([]node.PingRequest, len(targets))
	for i, target := range targets {
		requests[i] = node.PingRequest{Target: target, Source: from}
	}
	return requests, nil
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
func parseSource(s string) (nid.NID, error) {
	if s == "" {
		return nid.NID{}, nil
	}
	id, err := parseNID(s)
	if err != nil {
		return id, cli.Usagef("--source: %w", err)
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

// pingOutput has the keys of the kernel's tool.
type pingOutput struct {
	Ping   []pingDoc   `json:"ping,omitempty"`
	Manage []manageDoc `json:"manage,omitempty"` // targets that did not answer

	failed failures
}

type pingDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []pingNIDoc `json:"peer_ni"`
}

type pingNIDoc struct {
	NID nid.NID `json:"nid"`
}

func niDocs(nis []node.PingedNI) []pingNIDoc {
	docs := []pingNIDoc{}
	for _, ni := range nis {
		docs = append(docs, pingNIDoc{ni.NID})
	}
	return docs
}

// manageDoc describes a node that did not answer. Like the kernel's tool, it has a key without a
// value for what failed.
type manageDoc struct {
	Ping *struct{} `json:"ping"`
	failureDoc
}

// before prints the answers that came before an error ended the command, if there are any, and returns the error.
func (o *pingOutput) before(c *cobra.Command, g *globals, err error) error {
	if len(o.Ping)+len(o.Manage) == 0 {
		return err
	}
	return cmp.Or(g.print(c, o), err)
}

func (o *pingOutput) add(target nid.NID, reply node.PingReply, err error) {
	if err != nil {
		o.Manage = append(o.Manage, manageDoc{nil, o.failed.add(target, err)})
		return
	}
	o.Ping = append(o.Ping, pingDoc{reply.Primary, reply.MultiRail, niDocs(reply.NIs)})
}
