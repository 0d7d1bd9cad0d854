package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// serveVerb is the verb msg serve with its flags.
type serveVerb struct {
	globals *globals
	at      *address
	alone   *standalone
	request node.ServeRequest
}

func msgServe(g *globals) *cobra.Command {
	v := &serveVerb{globals: g}
	c := &cobra.Command{
		Use:   "serve --portal P --match-bits X FILE|-",
		Short: "Offer a file to GETs and print each event",
		Long: `Posts a match entry with a file of up to 64 MiB in memory, answers GETs for any
part of it, and prints each event. Ends after --count GETs, or with SIGINT or
SIGTERM.`,
		Example: "  lnetctl msg serve --portal 21 --match-bits 0x2 file",
		Args:    cli.Args("FILE"),
		RunE:    v.run,
	}
	v.at = addAddress(c, true)
	c.Flags().IntVar(&v.request.Count, "count", 0, "end after `N` GETs; 0: never")
	v.alone = addStandalone(c)
	return c
}

func (v *serveVerb) run(c *cobra.Command, args []string) error {
	r := &v.request
	r.Portal, r.MatchBits, r.IgnoreBits = v.at.portal, v.at.bits.Bits, v.at.ignore.Bits
	if r.Count < 0 {
		return cli.Usagef("--count %d: want 0 or more", r.Count)
	}
	if err := v.at.check(); err != nil {
		return err
	}
	in, _, closeInput, err := openInput(c, args[0])
	if err != nil {
		return err
	}
	defer closeInput()
	n, stop, err := v.alone.connect(v.globals, false)
	if err != nil {
		return err
	}
	defer stop()
	err = n.Serve(c.Context(), *r, in, v.report(c))
	return ended(c.Context(), r.Count == 0, err)
}

// report returns the function that prints the steps.
func (v *serveVerb) report(c *cobra.Command) node.Report {
	print := eventPrinter{c.OutOrStdout(), v.globals.json}
	return func(s node.Step) error {
		switch {
		case s.Ready:
			fmt.Fprintf(c.ErrOrStderr(), "waiting for GETs on portal %d, match bits %v\n", v.request.Portal, v.request.MatchBits)
		case s.Missed > 0:
			fmt.Fprintf(c.ErrOrStderr(), "%d events came too fast to be shown\n", s.Missed)
		default:
			return print.print(s.Event)
		}
		return nil
	}
}
