package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func msgServe(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve --portal P --match-bits X FILE|-",
		Short: "Offer a file to GETs and print each event",
		Long: `Posts a match entry with a file of up to 64 MiB in memory, answers GETs for any
part of it, and prints each event. Ends after --count GETs, or with SIGINT or
SIGTERM.`,
		Example: "  lnetctl msg serve --portal 21 --match-bits 0x2 file",
		Args:    cobra.ExactArgs(1),
	}
	at := addAddress(c, true)
	var r node.ServeRequest
	c.Flags().IntVar(&r.Count, "count", 0, "end after `N` GETs; 0: never")
	alone := addStandalone(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r.Portal, r.MatchBits, r.IgnoreBits = at.portal, at.bits.Bits, at.ignore.Bits
		if r.Count < 0 {
			return cli.Usagef("--count %d: want 0 or more", r.Count)
		}
		if err := at.check(); err != nil {
			return err
		}
		in, _, closeInput, err := openInput(c, args[0])
		if err != nil {
			return err
		}
		defer closeInput()
		n, stop, err := alone.connect(g, false)
		if err != nil {
			return err
		}
		defer stop()
		print := eventPrinter{c.OutOrStdout(), g.json}
		err = n.Serve(c.Context(), r, in, func(s node.Step) error {
			switch {
			case s.Ready:
				fmt.Fprintf(c.ErrOrStderr(), "waiting for GETs on portal %d, match bits %v\n", r.Portal, r.MatchBits)
			case s.Missed > 0:
				fmt.Fprintf(c.ErrOrStderr(), "%d events came too fast to be shown\n", s.Missed)
			default:
				return print.print(s.Event)
			}
			return nil
		})
		return ended(c.Context(), r.Count == 0, err)
	}
	return c
}
