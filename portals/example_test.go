package portals_test

import (
	"context"
	"fmt"
	stdlog "log"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// A node receives a message that it sends to itself. With other networks, such as
// tcp(eth0), the same calls reach another machine.
func Example() {
	n, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		stdlog.Fatal(err)
	}
	defer func() { _ = n.Close(context.Background()) }()
	table := n.Table()

	// The receiver: portal 7, match bits 42, any sender, one message.
	me, err := table.MEAttach(7, portals.Match{Bits: 42}, portals.Unlink, portals.After)
	if err != nil {
		stdlog.Fatal(err)
	}
	_, err = table.MDAttach(me, portals.MD{
		Segments:  []lnd.Segment{make([]byte, 100)},
		Threshold: 1,
		Options:   portals.OpPut,
		Handler:   func(e *portals.Event) { fmt.Printf("received %q, unlinked: %v\n", e.Bytes(), e.Unlinked) },
	}, portals.Unlink)
	if err != nil {
		stdlog.Fatal(err)
	}

	// The sender: the threshold is 2, because the PUT and its ACK are two operations.
	md, err := table.MDBind(portals.MD{
		Segments:  []lnd.Segment{[]byte("hello")},
		Threshold: 2,
		Handler:   func(e *portals.Event) { fmt.Println(e.Kind, e.MLength) },
	}, portals.Unlink)
	if err != nil {
		stdlog.Fatal(err)
	}
	err = table.Put(portals.PutRequest{
		MD: md, Ack: true, Target: nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}, Portal: 7, MatchBits: 42,
	})
	if err != nil {
		stdlog.Fatal(err)
	}
	// Output:
	// received "hello", unlinked: true
	// SEND 5
	// ACK 5
}
