package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func msgSink(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "sink --portal P --match-bits X",
		Short: "Take PUTs, print each event and write what came",
		Long: `Posts match entries with memory for PUTs, prints each event and writes what
came to --out: one message after the other, or with --manage-remote at the
offset that the sender chose. Each message has a buffer of its own. Ends after
--count messages, or with SIGINT or SIGTERM.`,
		Example: "  lnetctl msg sink --portal 20 --match-bits 0x1 --ignore-bits 0xff --count 1 --out file",
		Args:    cobra.NoArgs,
	}
	at := addAddress(c, true)
	var r node.SinkRequest
	c.Flags().IntVar(&r.Size, "size", 1<<20, "`BYTES` of a buffer")
	c.Flags().IntVar(&r.Count, "count", 0, "end after `N` messages; 0: never")
	c.Flags().BoolVar(&r.ManageRemote, "manage-remote", false, "the sender's offset counts (LNET_MD_MANAGE_REMOTE)")
	c.Flags().BoolVar(&r.Truncate, "truncate", false, "cut what is too long instead of dropping it (LNET_MD_TRUNCATE)")
	out := c.Flags().String("out", "", "write what comes to `FILE`, - for standard output")
	alone := addStandalone(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		r.Portal, r.MatchBits, r.IgnoreBits = at.portal, at.bits.Bits, at.ignore.Bits
		if err := checkSink(at, &r); err != nil {
			return err
		}
		file, err := createOutput(c, *out)
		if err != nil {
			return err
		}
		n, stop, err := alone.connect(g, false)
		if err != nil {
			return file.closeAfter(err)
		}
		defer stop()
		print := eventPrinter{file.events(), g.json}
		err = n.Sink(c.Context(), r, func(s node.Step) error {
			if s.Ready {
				fmt.Fprintf(c.ErrOrStderr(), "waiting for PUTs on portal %d, match bits %v\n", r.Portal, r.MatchBits)
				return nil
			}
			if err := file.write(s, r.ManageRemote); err != nil {
				return err
			}
			return print.print(s.Event)
		})
		return file.closeAfter(ended(c.Context(), r.Count == 0, err))
	}
	return c
}

func checkSink(at *address, r *node.SinkRequest) error {
	switch {
	case r.Size < 1 || r.Size > node.MaxBuffer:
		return cli.Usagef("--size %d: want 1 to %d", r.Size, node.MaxBuffer)
	case r.Count < 0:
		return cli.Usagef("--count %d: want 0 or more", r.Count)
	}
	return at.check()
}
