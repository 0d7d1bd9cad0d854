package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// pathVerb is the verb path with its flags.
type pathVerb struct {
	globals *globals
	source  string
}

func pathCommand(g *globals) *cobra.Command {
	v := &pathVerb{globals: g}
	c := &cobra.Command{
		Use:   "path NID",
		Short: "Show which path a message would take now, and why it would take no other",
		Long: `Shows the NI by which a message to a node would leave now, the NID that would
get it first (the next hop: the node itself, or a gateway), and the NID that it
would end at, which for a node with several interfaces may be another one than
was asked for. Below stand all NIs and gateways that could have been taken, with
the first reason for which each was not.

Nothing is sent, and a node that is not known yet is not asked for its other
interfaces: see discover. The next message may take another path, because NIs
that are equal otherwise take turns.`,
		Example: `  lnetctl path 10.0.0.2@tcp
  lnetctl path --source 10.1.0.1@tcp1 10.0.0.2@tcp`,
		Args: cli.Args("NID"),
		RunE: v.run,
	}
	c.Flags().StringVar(&v.source, "source", "", "local `NID` to send from")
	return c
}

func (v *pathVerb) run(c *cobra.Command, args []string) error {
	target, err := parseTarget(args[0])
	if err != nil {
		return err
	}
	r := node.PathRequest{NID: target.NID}
	if r.Source, err = parseSource(v.source); err != nil {
		return err
	}
	p, err := node.OpPath.Call(c.Context(), v.globals.client(), r)
	if err != nil {
		return err
	}
	if err := v.globals.print(c, pathOutput{docOf(p)}); err != nil {
		return err
	}
	if !p.Source.IsValid() {
		return noPath(r, p)
	}
	return nil
}

// noPath returns the error for a message whose destination no path leads to.
func noPath(r node.PathRequest, p lnet.Path) error {
	for _, c := range p.Candidates {
		if c.Kind == "gateway" {
			return fmt.Errorf("no path to %v: no gateway to %v can be used, 'lnetctl route show -v' tells why", r.NID, r.NID.Net())
		}
	}
	if r.Source.IsValid() && r.Source.Net() != r.NID.Net() {
		return fmt.Errorf("no path from %v to %v: add a route by a gateway on %v, or leave out --source", r.Source, r.NID, r.Source.Net())
	}
	return fmt.Errorf("no path to %v: add an NI on %v, or a route to it", r.NID, r.NID.Net())
}

type pathOutput struct {
	Path pathDoc `json:"path"`
}

type pathDoc struct {
	Source      nid.NID        `json:"source,omitzero"`
	NextHop     nid.NID        `json:"next hop,omitzero"`
	Destination nid.NID        `json:"destination"`
	Local       []candidateDoc `json:"local ni,omitempty"`
	Peer        []candidateDoc `json:"peer ni,omitempty"`
	Gateway     []candidateDoc `json:"gateway,omitempty"`
}

type candidateDoc struct {
	NID      nid.NID `json:"nid"`
	Result   string  `json:"result"`
	Status   string  `json:"status"`
	Health   int     `json:"health value"`
	Priority *uint32 `json:"priority,omitempty"`
	Hops     int     `json:"hops,omitempty"`
	Credits  *int    `json:"credits,omitempty"`
	Messages *int    `json:"messages,omitempty"`
}

func docOf(p lnet.Path) pathDoc {
	d := pathDoc{Source: p.Source, NextHop: p.NextHop, Destination: p.Destination}
	for _, o := range p.Candidates {
		c := candidateDoc{NID: o.NID, Result: o.Reason, Status: "down", Health: o.Health, Hops: o.Hops}
		if o.Up {
			c.Status = "up"
		}
		if o.Priority != lnet.NoPriority {
			c.Priority = &o.Priority
		}
		messages := -o.Credits
		switch o.Kind {
		case "local":
			c.Credits = &o.Credits
			d.Local = append(d.Local, c)
		case "peer":
			c.Messages = &messages
			d.Peer = append(d.Peer, c)
		default:
			c.Messages = &messages
			d.Gateway = append(d.Gateway, c)
		}
	}
	return d
}
