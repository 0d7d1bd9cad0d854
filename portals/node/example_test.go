package node_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// portal is where the receiver listens; all nodes agree on it.
const portal = 20

// put starts a node and sends a message with it. It dials only, and so needs no port.
func put(cfg node.Config, to nid.NID, text string) (*node.Node, error) {
	n, err := node.Start(cfg)
	if err != nil {
		return nil, err
	}
	md, err := n.Table().MDBind(portals.MD{Segments: [][]byte{[]byte(text)}, Threshold: 1}, portals.Unlink)
	if err != nil {
		return n, err
	}
	return n, n.Table().Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: to, PID: nid.LustrePID}, Portal: portal})
}

// A node sends a PUT to another one, here in the same process.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // one TCP port for all nodes; without AcceptPort it is 988
	if err != nil {
		log.Fatal(err)
	}
	receiver, err := node.Start(node.Config{Networks: "tcp(127.0.84.1)", AcceptPort: port})
	if err != nil {
		log.Fatal(err)
	}
	defer receiver.Close(context.Background())
	received := make(chan string, 1)
	var inbox portals.Inbox
	err = inbox.Open(receiver.Table(), portals.InboxConfig{Portal: portal, Handle: func(e *portals.Event, data []byte) {
		received <- fmt.Sprintf("%v says %q", e.Initiator.NID, data)
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer inbox.Close()

	sender, err := put(node.Config{Networks: "tcp(127.0.84.2)", AcceptPort: port, DialOnly: true}, receiver.NIDs()[0], "hello")
	if err != nil {
		log.Fatal(err)
	}
	defer sender.Close(context.Background())
	fmt.Println(<-received)
	// Output:
	// 127.0.84.2@tcp says "hello"
}
