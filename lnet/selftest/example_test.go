package selftest_test

import (
	"context"
	"fmt"
	stdlog "log"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/portals/node"
)

// A node becomes a test node for consoles of one network.
func Example() {
	n, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		stdlog.Fatal(err)
	}
	defer func() { _ = n.Close(context.Background()) }()

	net := nid.MustParseNet("tcp")
	agent, err := selftest.New(n.Table(), selftest.Config{Allow: func(id nid.NID) bool { return id.Net() == net }})
	if err != nil {
		stdlog.Fatal(err)
	}
	fmt.Println("session:", agent.Status().Session)
	if err := agent.Close(context.Background()); err != nil {
		stdlog.Fatal(err)
	}
	// Output: session: none
}
