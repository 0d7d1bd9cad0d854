package collective_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
	"ulnet/scoll/collective"
)

// Three members wait for each other. Here they are in one process.
func ExampleBarrier() {
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	var barriers []*collective.Barrier
	var agents []*scoll.Agent
	var nids []nid.NID
	for i := range 3 {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(127.0.88.%d)", i+1), AcceptPort: port})
		if err != nil {
			panic(err)
		}
		defer n.Close(ctx)
		agent, err := scoll.New(n.Table(), scoll.Config{})
		if err != nil {
			panic(err)
		}
		defer agent.Close(ctx)
		barrier, err := collective.NewBarrier(agent, 7)
		if err != nil {
			panic(err)
		}
		barriers, agents, nids = append(barriers, barrier), append(agents, agent), append(nids, n.NIDs()[0])
	}

	var others sync.WaitGroup
	for _, b := range barriers[1:] {
		others.Go(func() {
			if err := b.Wait(ctx, "all are mounted"); err != nil {
				panic(err)
			}
		})
	}
	group, err := agents[0].NewGroup(ctx, 7, nids...)
	if err != nil {
		panic(err)
	}
	within, cancel := context.WithTimeout(ctx, time.Minute) // the members must enter by then
	defer cancel()
	result, err := barriers[0].Lead(within, group, "all are mounted")
	if err != nil {
		panic(err)
	}
	others.Wait()
	fmt.Println(result.Answered, "members are there")
	// Output: 3 members are there
}
