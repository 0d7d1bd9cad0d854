package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func msgPut(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "put NID --portal P --match-bits X FILE|-",
		Short: "Send a file by PUTs",
		Long: `Sends a file, or standard input, to a match entry of a node. What is longer
than 1 MiB goes by several PUTs at rising offsets, one after the other: each
when the one before has left, or with --ack when it was taken. Without --ack
nothing tells whether anybody took it.`,
		Example: "  lnetctl msg put 10.0.0.2@tcp --portal 20 --match-bits 0x1 --ack file",
		Args:    cobra.ExactArgs(2),
	}
	at := addAddress(c, false)
	var hdrData bitsValue
	r := node.PutRequest{}
	c.Flags().BoolVar(&r.Ack, "ack", false, "ask for an ACK of each PUT and wait for it")
	c.Flags().Uint32Var(&r.Offset, "offset", 0, "`BYTES` into the target's memory, if its entry lets us choose")
	c.Flags().Var(&hdrData, "hdr-data", "64 bits that come with each PUT's event")
	timeout := timeoutFlag(c, "timeout", "how long each PUT may take, such as 5s; a bare number is milliseconds (default 10s)")
	source := c.Flags().String("source", "", "local `NID` to send from")
	alone := addStandalone(c)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		r.Portal, r.MatchBits, r.HdrData, r.Timeout = at.portal, at.bits.Bits, hdrData.Bits, timeout.value
		if err := at.check(); err != nil {
			return err
		}
		if r.Target, err = parseTarget(args[0]); err != nil {
			return err
		}
		if r.Source, err = parseSource(*source); err != nil {
			return err
		}
		in, size, closeInput, err := openInput(c, args[1])
		if err != nil {
			return err
		}
		defer closeInput()
		n, stop, err := alone.connect(g, true)
		if err != nil {
			return err
		}
		defer stop()
		shown := newProgress(c.ErrOrStderr(), c.OutOrStdout(), size)
		defer shown.end()
		print := eventPrinter{c.OutOrStdout(), g.json}
		err = n.Put(c.Context(), r, in, func(s node.Step) error {
			if s.Event.Type == "SEND" {
				shown.add(int64(s.Event.MLength))
			}
			return print.print(s.Event)
		})
		return explainPut(ended(c.Context(), false, err), r)
	}
	return c
}

// explainPut adds what to do next when the node could not be reached.
func explainPut(err error, r node.PutRequest) error {
	if err != nil && cli.HintOf(err) == "" {
		return cli.Hint(err, "can the node be reached? try 'lnetctl ping %v'", r.Target.NID)
	}
	return err
}
