package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// sinkVerb is the verb msg sink with its flags.
type sinkVerb struct {
	globals *globals
	at      *address
	size    sizeValue
	out     string
	alone   *standalone
	request node.SinkRequest
}

func msgSink(g *globals) *cobra.Command {
	v := &sinkVerb{globals: g, size: 1 << 20}
	c := &cobra.Command{
		Use:   "sink --portal P --match-bits X",
		Short: "Take PUTs, print each event and write what came",
		Long: `Posts match entries with memory for PUTs, prints each event and writes what
came to --out, one message after the other. Each message has a buffer of its
own, of --size. A longer message is dropped, or cut with --truncate.

With --manage-remote the sender chooses where in the buffer its message begins,
and the output is written at that offset. Then --size is how far offsets reach:
for a file that comes in several messages ('msg put' of more than 1 MiB), as
much as the whole file.

Ends after --count messages, or with SIGINT or SIGTERM.`,
		Example: `  lnetctl msg sink --portal 20 --match-bits 0x1 --ignore-bits 0xff --count 1 --out file
  lnetctl msg sink --portal 20 --match-bits 0x1 --manage-remote --size 4M --out file`,
		Args: cli.Args(),
		RunE: v.run,
	}
	v.at = addAddress(c, true)
	c.Flags().Var(&v.size, "size", "length of each buffer, such as 4096, 64K or 4M; with --manage-remote the end of the sender's offsets")
	c.Flags().IntVar(&v.request.Count, "count", 0, "end after `N` messages; 0: never")
	c.Flags().BoolVar(&v.request.ManageRemote, "manage-remote", false, "the sender's offset counts (LNET_MD_MANAGE_REMOTE)")
	c.Flags().BoolVar(&v.request.Truncate, "truncate", false, "cut what is too long instead of dropping it (LNET_MD_TRUNCATE)")
	c.Flags().StringVar(&v.out, "out", "", "write what comes to `FILE`, - for standard output")
	v.alone = addStandalone(c)
	return c
}

func (v *sinkVerb) run(c *cobra.Command, _ []string) error {
	if err := v.take(); err != nil {
		return err
	}
	file, err := createOutput(c, v.out)
	if err != nil {
		return err
	}
	n, stop, err := v.alone.connect(v.globals, false)
	if err != nil {
		return file.closeAfter(err)
	}
	defer stop()
	err = n.Sink(c.Context(), v.request, v.report(c, file))
	return file.closeAfter(ended(c.Context(), v.request.Count == 0, err))
}

// take fills in the request from the flags.
func (v *sinkVerb) take() error {
	r := &v.request
	switch {
	case v.size < 1 || v.size > node.MaxBuffer:
		return cli.Usagef("--size %v: want 1 to %d bytes", &v.size, node.MaxBuffer)
	case r.Count < 0:
		return cli.Usagef("--count %d: want 0 or more", r.Count)
	}
	r.Portal, r.MatchBits, r.IgnoreBits = v.at.portal, v.at.bits.Bits, v.at.ignore.Bits
	r.Size = int(v.size)
	return v.at.check()
}

// report returns the function that prints the steps and writes the payload.
func (v *sinkVerb) report(c *cobra.Command, file *output) node.Report {
	print := eventPrinter{file.events(), v.globals.json}
	return func(s node.Step) error {
		if s.Ready {
			fmt.Fprintf(c.ErrOrStderr(), "waiting for PUTs on portal %d, match bits %v\n", v.request.Portal, v.request.MatchBits)
			return nil
		}
		if err := file.write(s, v.request.ManageRemote); err != nil {
			return err
		}
		return print.print(s.Event)
	}
}
