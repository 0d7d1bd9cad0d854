package wire_test

import (
	"fmt"

	"ulnet/gossip/wire"
)

// An observer, which takes no part in gossip, parses a message: here a reply about eight
// participants that has the ages of two.
func ExampleParseMessage() {
	header := wire.Header{Flags: wire.FlagPairs, N: 8, Clock: 100}
	data := header.AppendTo(nil)
	data = wire.AppendPair(wire.AppendPair(data, 0, 2), 7, 5)

	m, err := wire.ParseMessage(wire.ReplyBits, data)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Clock, m.Flags)
	for _, e := range m.Entries {
		fmt.Printf("participant %d was heard of %v cycles ago\n", e.Index, e)
	}
	// Output:
	// 100 pairs
	// participant 0 was heard of 2 cycles ago
	// participant 7 was heard of 5 cycles ago
}
