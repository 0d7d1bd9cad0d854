package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

func pingCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "ping NID...",
		Short: "Ask nodes for their interfaces",
		Example: `  lnetctl ping 10.0.0.2@tcp 10.0.0.3@tcp
  lnetctl ping --standalone --networks 'tcp(eth0)' 10.0.0.2@tcp`,
		Args: cobra.MinimumNArgs(1),
	}
	timeout := timeoutFlag(c, "timeout", "how long to wait for each answer, such as 5s; a bare number is milliseconds")
	source := c.Flags().String("source", "", "local `NID` to ping from")
	alone := addStandalone(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		requests, err := pingRequests(args, *source)
		if err != nil {
			return err
		}
		n, stop, err := alone.connect(g, true)
		if err != nil {
			return err
		}
		defer stop()
		var out pingOutput
		for _, r := range requests {
			r.Timeout = timeout.value
			reply, err := n.Ping(c.Context(), r)
			if c.Context().Err() != nil {
				return errInterrupted
			}
			if cli.HintOf(err) != "" { // not the node failed, but the way to the daemon
				return err
			}
			out.add(r.Target.NID, reply, err)
		}
		if err := cli.Print(c.OutOrStdout(), g.json, out); err != nil {
			return err
		}
		if failed := len(out.Manage); failed > 0 {
			return cli.Hint(fmt.Errorf("%d of %d nodes did not answer", failed, len(requests)),
				"is their address right, do they run, and does a firewall let TCP port 988 or --accept-port through?")
		}
		return nil
	}
	return c
}

// pingRequests checks the arguments.
func pingRequests(args []string, source string) ([]node.PingRequest, error) {
	var requests []node.PingRequest
	for _, arg := range args {
		target, err := parseTarget(arg)
		if err != nil {
			return nil, err
		}
		r := node.PingRequest{Target: target}
		if r.Source, err = parseSource(source); err != nil {
			return nil, err
		}
		requests = append(requests, r)
	}
	return requests, nil
}

// parseTarget parses a NID, or a pid and a NID as in 12345-10.0.0.2@tcp.
func parseTarget(s string) (nid.ProcessID, error) {
	id, err := nid.ParseProcessID(s)
	if err != nil {
		return id, cli.Usagef("%w", err)
	}
	if id.NID.IsAny() {
		return id, cli.Usagef("%s is not one node", s)
	}
	return id, nil
}

// parseSource parses --source; empty leaves the choice to LNet.
func parseSource(s string) (nid.NID, error) {
	if s == "" {
		return nid.NID{}, nil
	}
	id, err := nid.Parse(s)
	if err != nil {
		return id, cli.Usagef("--source: %w", err)
	}
	return id, nil
}

// pingOutput has the keys of the kernel's tool.
type pingOutput struct {
	Ping   []pingDoc   `json:"ping,omitempty"`
	Manage []manageDoc `json:"manage,omitempty"` // what failed
}

type pingDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []pingNIDoc `json:"peer_ni"`
}

type pingNIDoc struct {
	NID nid.NID `json:"nid"`
}

type manageDoc struct {
	Ping failureDoc `json:"ping"`
}

type failureDoc struct {
	Errno int    `json:"errno"` // negative
	Descr string `json:"descr"`
}

func (o *pingOutput) add(target nid.NID, reply node.PingReply, err error) {
	if err != nil {
		errno, ok := errors.AsType[syscall.Errno](err)
		if !ok {
			errno = syscall.EIO
		}
		why := strings.TrimPrefix(err.Error(), fmt.Sprintf("ping %v: ", target))
		o.Manage = append(o.Manage, manageDoc{failureDoc{-int(errno), fmt.Sprintf("failed to ping %v: %s", target, why)}})
		return
	}
	doc := pingDoc{Primary: reply.Primary, MultiRail: reply.MultiRail, NIs: []pingNIDoc{}}
	for _, ni := range reply.NIs {
		doc.NIs = append(doc.NIs, pingNIDoc{ni.NID})
	}
	o.Ping = append(o.Ping, doc)
}
