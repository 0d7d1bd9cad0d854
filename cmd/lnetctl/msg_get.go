package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func msgGet(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "get NID --portal P --match-bits X --length N",
		Short: "Fetch data by GETs",
		Long: `Fetches bytes from a match entry of a node, by several GETs at rising offsets
if there are more than 1 MiB. The data go to --out; without it, and without
--json, to standard output, and the events to standard error.`,
		Example: "  lnetctl msg get 10.0.0.2@tcp --portal 21 --match-bits 0x2 --length 1048576 --out file",
		Args:    cobra.ExactArgs(1),
	}
	at := addAddress(c, false)
	r := node.GetRequest{}
	c.Flags().Uint64Var(&r.Length, "length", 0, "`BYTES` to fetch")
	_ = c.MarkFlagRequired("length") // the flag exists
	c.Flags().Uint32Var(&r.Offset, "offset", 0, "`BYTES` into the target's memory, if its entry lets us choose")
	timeout := timeoutFlag(c, "timeout", "how long each GET may take, such as 5s; a bare number is milliseconds (default 10s)")
	source := c.Flags().String("source", "", "local `NID` to send from")
	out := c.Flags().String("out", "", "write the data to `FILE`, - for standard output")
	alone := addStandalone(c)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		r.Portal, r.MatchBits, r.Timeout = at.portal, at.bits.Bits, timeout.value
		if err := at.check(); err != nil {
			return err
		}
		if r.Target, err = parseTarget(args[0]); err != nil {
			return err
		}
		if r.Source, err = parseSource(*source); err != nil {
			return err
		}
		if *out == "" && !g.json {
			*out = "-"
		}
		file, err := createOutput(c, *out)
		if err != nil {
			return err
		}
		n, stop, err := alone.connect(g, true)
		if err != nil {
			return file.closeAfter(err)
		}
		defer stop()
		return file.closeAfter(fetch(c, g, n, r, file))
	}
	return c
}

func fetch(c *cobra.Command, g *globals, n operator, r node.GetRequest, file *output) error {
	shown := newProgress(c.ErrOrStderr(), file.events(), int64(r.Length))
	defer shown.end()
	print := eventPrinter{file.events(), g.json}
	err := n.Get(c.Context(), r, func(s node.Step) error {
		if err := file.write(s, false); err != nil {
			return err
		}
		if s.Event.Type == "REPLY" {
			shown.add(int64(s.Event.MLength))
		}
		return print.print(s.Event)
	})
	if err == nil && uint64(shown.done) < r.Length {
		err = cli.Hint(fmt.Errorf("%d of %d bytes: the target has no more there", shown.done, r.Length),
			"ask for less with --length or --offset")
	}
	err = ended(c.Context(), false, err)
	if err != nil && cli.HintOf(err) == "" {
		return cli.Hint(err, "can the node be reached? try 'lnetctl ping %v'", r.Target.NID)
	}
	return err
}
