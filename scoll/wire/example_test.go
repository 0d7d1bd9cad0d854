package wire_test

import (
	"fmt"

	"ulnet/scoll/wire"
)

// A program that observes the network reads a reply: an answer of three bytes, and one member
// below that is missing.
func ExampleParseReplyHeader() {
	data := (&wire.ReplyHeader{Sequence: 5, Flags: wire.ReplyLast, PayloadSize: 3, Trailer: 1}).AppendTo(nil)
	data = append(data, "yes"...)
	data = wire.Missing{Rank: 6, Status: wire.ETIMEDOUT, Scope: wire.Subtree}.AppendTo(data)

	h, rest, err := wire.ParseReplyHeader(data)
	if err != nil {
		panic(err)
	}
	fmt.Printf("broadcast %d, %v: %s\n", h.Sequence, h.Flags, rest[:h.PayloadSize])
	missing, _, err := wire.ParseMissing(rest[h.PayloadSize:])
	if err != nil {
		panic(err)
	}
	fmt.Println(missing)
	// Output:
	// broadcast 5, last: yes
	// rank 6 and below: timed out
}
