package wire_test

import (
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Example encodes a ping, which is a GET of portal 0.
func Example() {
	h := wire.Header{
		DestNID: nid.MustParse("10.0.0.2"), SrcNID: nid.MustParse("10.0.0.1"),
		DestPID: nid.LustrePID, SrcPID: nid.LustrePID,
	}
	h.SetGet(wire.GetCmd{
		ReturnMD:   wire.MDHandle{Interface: 0x0102030405060708, Object: 0x21},
		MatchBits:  wire.PingMatchBits,
		Portal:     wire.PingPortal,
		SinkLength: uint32(wire.PingInfoSize(wire.MinPingEntries)),
	})
	b, err := h.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ; len(b) > 0; b = b[8:] {
		fmt.Printf("% X\n", b[:8])
	}
	// Output:
	// 02 00 00 0A 00 00 02 00
	// 01 00 00 0A 00 00 02 00
	// 39 30 00 00 39 30 00 00
	// 02 00 00 00 00 00 00 00
	// 08 07 06 05 04 03 02 01
	// 21 00 00 00 00 00 00 00
	// 00 00 00 00 00 00 00 80
	// 00 00 00 00 00 00 00 00
	// 10 01 00 00 00 00 00 00
}

// A reader asks for as many bytes as the request turns out to have.
func ExampleAcceptorRequestSize() {
	sent, _ := wire.NewAcceptorRequest(nid.MustParse("2001:db8::2@tcp1")).AppendBinary(nil)
	var b []byte
	for need := wire.AcceptorPrefixSize; len(b) < need; {
		b = append(b, sent[len(b):need]...) // a read from the connection
		var err error
		if need, err = wire.AcceptorRequestSize(b); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("have", len(b), "need", need)
	}
	r, _, err := wire.ParseAcceptorRequest(b)
	fmt.Println(r.Version, r.NID, err)
	// Output:
	// have 8 need 28
	// have 28 need 28
	// 2 2001:db8::2@tcp1 <nil>
}
