package rmcast_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll/rmcast"
)

// Two members, here in one process: one sends, and continues when both have its message. The
// first one also manages the group, and leaves last.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // one TCP port for all nodes; without AcceptPort it is 988
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	managers := []nid.NID{nid.MustParse("127.0.89.1@tcp")} // the same on all nodes
	var members []*rmcast.Group
	for i := range 2 {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(127.0.89.%d)", i+1), AcceptPort: port})
		if err != nil {
			log.Fatal(err)
		}
		defer n.Close(ctx)
		agent, err := rmcast.New(n.Table(), rmcast.Config{}) // in a cluster, set View to the gossip agent
		if err != nil {
			log.Fatal(err)
		}
		defer agent.Close(ctx)
		if i == 0 {
			if err := agent.Manage(rmcast.ManagerConfig{Group: 7, Managers: managers}); err != nil {
				log.Fatal(err)
			}
		}
		g, err := agent.Join(rmcast.GroupConfig{
			Group: 7, Managers: managers, FIFO: true,
			Handle: func(m *rmcast.Message) { fmt.Printf("%v got %q\n", n.NIDs()[0], m.Data) },
		})
		if err != nil {
			log.Fatal(err)
		}
		if err := g.Ready(ctx); err != nil {
			log.Fatal(err)
		}
		members = append(members, g)
	}
	if _, err := members[1].Send(ctx, []byte("hello, all")); err != nil {
		log.Fatal(err)
	}
	for _, g := range []*rmcast.Group{members[1], members[0]} {
		if err := g.Leave(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Unordered output:
	// 127.0.89.1@tcp got "hello, all"
	// 127.0.89.2@tcp got "hello, all"
}
