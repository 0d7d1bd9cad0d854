package console_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals/node"
)

// A console measures the network between itself and another node: 16 times 1 MiB are written,
// and checked at their arrival.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	check(err)
	var tables []*node.Node
	var ids []nid.ProcessID
	for i := range 2 {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(127.0.87.%d)", i+1), AcceptPort: port})
		check(err)
		defer n.Close(ctx)
		agent, err := selftest.New(n.Table(), selftest.Config{})
		check(err)
		defer agent.Close(ctx)
		tables, ids = append(tables, n), append(ids, nid.ProcessID{NID: n.NIDs()[0], PID: nid.LustrePID})
	}

	const key = 100 // the key of this user's session
	c, err := console.New(tables[0].Table(), nil, console.Config{})
	check(err)
	defer c.Close(ctx)
	_, err = c.NewSession(ctx, console.NewSession{Key: key, Name: "example", Features: wire.KnownFeatures})
	check(err)
	_, err = c.AddGroup(ctx, key, "clients", ids[:1])
	check(err)
	answers, err := c.AddGroup(ctx, key, "servers", ids[1:])
	check(err)
	fmt.Println("the server is", answers[0].State)

	_, err = c.AddTest(ctx, key, console.Test{
		Batch: "batch", From: "clients", To: "servers", Loop: 16, Concurrency: 1, Distribute: 1, Span: 1,
		Service: wire.BRWService, BRW: wire.BRWParams{Op: wire.Write, Check: wire.CheckFull, Length: 1 << 20},
	})
	check(err)
	_, err = c.Run(ctx, key, "batch", time.Minute)
	check(err)
	for running := uint32(1); running > 0; {
		answers, err = c.Query(ctx, key, "batch", 0, time.Minute)
		check(err)
		running = answers[0].Active
	}
	answers, err = c.Stat(ctx, key, console.Target{Group: "servers"}, time.Minute)
	check(err)
	fmt.Println("it has got", answers[0].Stat.RPC.BulkGet>>20, "MiB")
	// Output:
	// the server is active
	// it has got 16 MiB
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
