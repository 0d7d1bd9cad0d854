package collective_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ulnet/health"
	"ulnet/health/collective"
	"ulnet/health/wire"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
)

// Two servers, here in one process: the first server broadcasts an eviction, and the second one
// answers. In a real cluster the agents of package health call Broadcast and Serve.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // all nodes use this TCP port; without the tunable AcceptPort it is 988
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	servers := []nid.NID{nid.MustParse("127.0.90.1@tcp"), nid.MustParse("127.0.90.2@tcp")}
	var all []*collective.Broadcaster
	for _, id := range servers {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(%v)", id.Addr()), AcceptPort: port})
		if err != nil {
			panic(err)
		}
		defer n.Close(ctx)
		agent, err := scoll.New(n.Table(), scoll.Config{})
		if err != nil {
			panic(err)
		}
		defer agent.Close(ctx)
		b, err := collective.New(collective.Config{Agent: agent, Servers: servers, Clock: n.Table().Node().Clock(), Processing: time.Minute})
		if err != nil {
			panic(err)
		}
		defer b.Close()
		all = append(all, b)
	}
	all[1].Serve(func(root nid.NID, request []byte, reply func([]byte)) {
		batch, _ := wire.ParseBatch(request) // cannot fail: only valid batches are delivered
		fmt.Println(root, "evicts", batch.Entries.At(0).Client)
		reply((&wire.Reply{Evicted: 1}).AppendTo(nil))
	})

	entry := wire.Entry{Client: wire.ClientIDOf("compute-17"), Incarnation: 1}
	done := make(chan health.Outcome, 1)
	all[0].Broadcast((&wire.Batch{Entries: entry.AppendTo(nil)}).AppendTo(nil), func(o health.Outcome) { done <- o })
	outcome := <-done
	reply, err := wire.ParseReply(outcome.Reply)
	fmt.Println("evicted by", reply.Evicted, "server, missing:", outcome.Missing, outcome.Err, err)
	// Output:
	// 127.0.90.1@tcp evicts d90bb4151804d2762ab2f378e61c3072
	// evicted by 1 server, missing: [] <nil> <nil>
}
