package main

import (
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// putVerb is the verb msg put with its flags.
type putVerb struct {
	globals *globals
	at      *address
	hdrData bitsValue
	timeout *timeoutValue
	source  string
	alone   *standalone
	request node.PutRequest
}

func msgPut(g *globals) *cobra.Command {
	v := &putVerb{globals: g}
	c := &cobra.Command{
		Use:   "put NID --portal P --match-bits X FILE|-",
		Short: "Send a file by PUTs",
		Long: `Sends a file, or standard input, to a match entry of a node. What is longer
than 1 MiB goes by several PUTs at rising offsets, one after the other: each
when the one before has left, or with --ack when it was taken. Without --ack
nothing tells whether anybody took it.`,
		Example: "  lnetctl msg put 10.0.0.2@tcp --portal 20 --match-bits 0x1 --ack file",
		Args:    cli.Args("NID", "FILE"),
		RunE:    v.run,
	}
	v.at = addAddress(c, false)
	c.Flags().BoolVar(&v.request.Ack, "ack", false, "ask for an ACK of each PUT and wait for it")
	c.Flags().Uint32Var(&v.request.Offset, "offset", 0, "`BYTES` into the target's memory, if its entry lets us choose")
	c.Flags().Var(&v.hdrData, "hdr-data", "64 bits that come with each PUT's event")
	v.timeout = timeoutFlag(c, "timeout", "", "how long each PUT may take, such as 500ms; a bare number is seconds (default 10s)")
	c.Flags().StringVar(&v.source, "source", "", "local `NID` to send from")
	v.alone = addStandalone(c)
	return c
}

func (v *putVerb) run(c *cobra.Command, args []string) error {
	if err := v.take(args[0]); err != nil {
		return err
	}
	in, size, closeInput, err := openInput(c, args[1])
	if err != nil {
		return err
	}
	defer closeInput()
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return err
	}
	defer stop()
	return v.send(c, n, in, size)
}

// take fills in the request from the flags and the target.
func (v *putVerb) take(target string) (err error) {
	r := &v.request
	r.Portal, r.MatchBits, r.HdrData, r.Timeout = v.at.portal, v.at.bits.Bits, v.hdrData.Bits, v.timeout.value
	if err := v.at.check(); err != nil {
		return err
	}
	if r.Target, err = parseTarget(target); err != nil {
		return err
	}
	r.Source, err = parseSource(v.source)
	return err
}

func (v *putVerb) send(c *cobra.Command, n operator, in io.Reader, size int64) error {
	shown := newProgress(c.ErrOrStderr(), c.OutOrStdout(), size)
	defer shown.end()
	print := eventPrinter{c.OutOrStdout(), v.globals.json}
	err := n.Put(c.Context(), v.request, in, func(s node.Step) error {
		if s.Event.Type == "SEND" {
			shown.add(int64(s.Event.MLength))
		}
		return print.print(s.Event)
	})
	return suggestPing(ended(c.Context(), false, err), v.request.Target.NID)
}
