package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// getVerb is the verb msg get with its flags.
type getVerb struct {
	globals *globals
	at      *address
	length  sizeValue
	timeout *timeoutValue
	source  string
	out     string
	alone   *standalone
	request node.GetRequest
}

func msgGet(g *globals) *cobra.Command {
	v := &getVerb{globals: g}
	c := &cobra.Command{
		Use:   "get NID --portal P --match-bits X --length N",
		Short: "Fetch data by GETs",
		Long: `Fetches bytes from a match entry of a node, by several GETs at rising offsets
if there are more than 1 MiB. The data go to --out; without it, and without
--json, to standard output, and the events to standard error.`,
		Example: "  lnetctl msg get 10.0.0.2@tcp --portal 21 --match-bits 0x2 --length 1M --out file",
		Args:    cli.Args("NID"),
		RunE:    v.run,
	}
	v.at = addAddress(c, false)
	c.Flags().Var(&v.length, "length", "how much to fetch, such as 4096 or 1M")
	_ = c.MarkFlagRequired("length") // cannot fail: the flag exists
	c.Flags().Uint32Var(&v.request.Offset, "offset", 0, "`BYTES` into the target's memory, if its entry lets us choose")
	v.timeout = timeoutFlag(c, "timeout", "", "how long each GET may take, such as 500ms; a bare number is seconds (default 10s)")
	c.Flags().StringVar(&v.source, "source", "", "local `NID` to send from")
	c.Flags().StringVar(&v.out, "out", "", "write the data to `FILE`, - for standard output")
	v.alone = addStandalone(c)
	return c
}

func (v *getVerb) run(c *cobra.Command, args []string) error {
	if err := v.take(args[0]); err != nil {
		return err
	}
	if v.out == "" && !v.globals.json {
		v.out = "-"
	}
	file, err := createOutput(c, v.out)
	if err != nil {
		return err
	}
	n, stop, err := v.alone.connect(v.globals, true)
	if err != nil {
		return file.closeAfter(err)
	}
	defer stop()
	return file.closeAfter(v.fetch(c, n, file))
}

// take fills in the request from the flags and the target.
func (v *getVerb) take(target string) (err error) {
	r := &v.request
	r.Portal, r.MatchBits, r.Length, r.Timeout = v.at.portal, v.at.bits.Bits, uint64(v.length), v.timeout.value
	if err := v.at.check(); err != nil {
		return err
	}
	if r.Target, err = parseTarget(target); err != nil {
		return err
	}
	r.Source, err = parseSource(v.source)
	return err
}

func (v *getVerb) fetch(c *cobra.Command, n operator, file *output) error {
	shown := newProgress(c.ErrOrStderr(), file.events(), int64(v.request.Length))
	defer shown.end()
	print := eventPrinter{file.events(), v.globals.json}
	err := n.Get(c.Context(), v.request, func(s node.Step) error {
		if err := file.write(s, false); err != nil {
			return err
		}
		if s.Event.Type == "REPLY" {
			shown.add(int64(s.Event.MLength))
		}
		return print.print(s.Event)
	})
	if err == nil && uint64(shown.done) < v.request.Length {
		err = cli.Hint(fmt.Errorf("%d of %d bytes: the target has no more there", shown.done, v.request.Length),
			"ask for less with --length or --offset")
	}
	return suggestPing(ended(c.Context(), false, err), v.request.Target.NID)
}
