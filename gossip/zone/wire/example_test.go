package wire_test

import (
	"fmt"

	"ulnet/gossip/zone/wire"
)

// A question for the members of a zone, as bytes and as an observer parses them.
func Example() {
	id := wire.MustParseID("oss1=10.0.0.1@tcp")
	d := &wire.Dispatch{Kind: wire.Query, From: id, Version: wire.Version{Inc: 7, Minor: 1}, Zone: "base", Number: 3}
	b := new(wire.Codec).AppendDispatch(nil, d, wire.MustParseID("mgs=10.0.0.9@tcp"))
	seen, signed, err := wire.ParseDispatch(b)
	fmt.Println(seen.Kind, seen.From, seen.Zone, seen.Number, signed, err)
	// Output: query oss1=10.0.0.1@tcp base 3 false <nil>
}
