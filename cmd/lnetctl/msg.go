package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

func msgCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "msg",
		Short: "Portals from the shell: take, send, offer and fetch data",
		Long: `Portals from the shell. sink posts match entries with memory and writes what
is PUT there; put sends data to such an entry. serve posts a file; get fetches
parts of it. Events are printed as they come, under their LNet names with
--json.`,
		Example: `  lnetctl msg sink --portal 20 --match-bits 0x1 --out file
  lnetctl msg put 10.0.0.2@tcp --portal 20 --match-bits 0x1 --ack file`,
	}
	c.AddCommand(msgSink(g), msgPut(g), msgServe(g), msgGet(g))
	return c
}

// address selects a portal, and match bits, of the operation's target.
type address struct {
	portal       int
	bits, ignore bitsValue
}

// addAddress adds the required flags --portal and --match-bits, and --ignore-bits to verbs that
// receive.
func addAddress(c *cobra.Command, receives bool) *address {
	a := new(address)
	c.Flags().IntVar(&a.portal, "portal", 0, "portal `INDEX`, 0 to 63; 0 is LNet's own")
	c.Flags().Var(&a.bits, "match-bits", "64 match bits, such as 0x1f")
	if receives {
		c.Flags().Var(&a.ignore, "ignore-bits", "match bits that need not match")
	}
	for _, name := range []string{"portal", "match-bits"} {
		_ = c.MarkFlagRequired(name) // cannot fail: the flag exists
	}
	return a
}

func (a *address) check() error {
	if a.portal < 0 || a.portal >= portals.Portals {
		return cli.Usagef("--portal %d: want 0 to %d", a.portal, portals.Portals-1)
	}
	return nil
}

// bitsValue is the value of a flag with 64 bits.
type bitsValue struct{ node.Bits }

func (b *bitsValue) String() string     { return b.Bits.String() }
func (b *bitsValue) Type() string       { return "BITS" }
func (b *bitsValue) Set(s string) error { return b.UnmarshalText([]byte(s)) }

// eventPrinter prints events.
type eventPrinter struct {
	out  io.Writer
	json bool
}

func (p eventPrinter) print(e *node.Event) error {
	if p.json {
		enc := json.NewEncoder(p.out)
		enc.SetEscapeHTML(false) // otherwise the text of an unknown NID, <?>, would be escaped
		return enc.Encode(e)
	}
	_, err := fmt.Fprintln(p.out, eventText(e))
	return err
}

// eventText describes an event in words.
func eventText(e *node.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", e.Type)
	switch e.Type {
	case "PUT", "GET":
		fmt.Fprintf(&b, "from %v, portal %d, match bits %v", e.Initiator, e.Portal, e.MatchBits)
	case "SEND":
		fmt.Fprintf(&b, "to %v, portal %d, match bits %v", e.Target, e.Portal, e.MatchBits)
	default:
		fmt.Fprintf(&b, "from %v", e.Initiator)
	}
	fmt.Fprintf(&b, ": %d bytes", e.MLength)
	if e.RLength > e.MLength {
		fmt.Fprintf(&b, " of %d", e.RLength)
	}
	if e.Type != "ACK" && e.Type != "REPLY" {
		fmt.Fprintf(&b, " at offset %d", e.Offset)
	}
	if e.HdrData != 0 {
		fmt.Fprintf(&b, ", header data %v", e.HdrData)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ", status %d", e.Status)
	}
	return b.String()
}

// ended translates the result of an operation. If the operation is endless, an interrupt counts
// as success.
func ended(ctx context.Context, endless bool, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case endless:
		return nil
	}
	return errInterrupted
}

// suggestPing adds a hint to an error that has none.
func suggestPing(err error, target nid.NID) error {
	if err != nil && cli.HintOf(err) == "" {
		return cli.Hint(err, "can the node be reached? try 'lnetctl ping %v'", target)
	}
	return err
}
