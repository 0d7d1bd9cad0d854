package scoll_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
)

const diskService scoll.ServiceID = 102 // all servers agree on it

// serve starts a server that says how many bytes are free on its disk.
func serve(cfg node.Config, free func() (uint64, error)) (*node.Node, *scoll.Agent, error) {
	n, err := node.Start(cfg)
	if err != nil {
		return nil, nil, err
	}
	agent, err := scoll.New(n.Table(), scoll.Config{})
	if err != nil {
		return n, nil, err
	}
	return n, agent, agent.Handle(diskService, scoll.Handler{
		Merge: scoll.Sum.Merge, // adds up answers on their way to the server that asks
		Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			bytes, err := free()
			return scoll.Numbers(bytes), err
		},
	})
}

// total asks all servers, from one of them.
func total(ctx context.Context, agent *scoll.Agent, servers ...nid.NID) (*scoll.Result, error) {
	group, err := agent.NewGroup(ctx, diskService, servers...)
	if err != nil {
		return nil, err
	}
	return group.Call(ctx, scoll.CallConfig{})
}

// Three servers in one process; the disk of one is gone.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // one TCP port for all; without AcceptPort it is 988
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var servers []nid.NID
	var first *scoll.Agent
	for i := range uint64(3) {
		free := func() (uint64, error) { return (i + 1) * 1e9, nil }
		if i == 2 {
			free = func() (uint64, error) { return 0, errors.New("disk sdb is gone") }
		}
		n, agent, err := serve(node.Config{Networks: fmt.Sprintf("tcp(127.0.85.%d)", i+1), AcceptPort: port}, free)
		if err != nil {
			panic(err)
		}
		defer n.Close(ctx)
		defer agent.Close(ctx)
		if servers = append(servers, n.NIDs()[0]); first == nil {
			first = agent
		}
	}

	result, err := total(ctx, first, servers...)
	if err != nil { // no server was asked, or ctx has ended
		panic(err)
	}
	fmt.Printf("%d GB free on %d servers\n", result.Numbers()[0]/1e9, result.Answered)
	fmt.Println(result.Err())
	// Output:
	// 3 GB free on 2 servers
	// scoll: 1 of 3 failed: rank 2, 127.0.85.3@tcp: disk sdb is gone
}

// Without Merge the caller gets the answer of each member, as here of two of three.
func ExampleGroup_Call() {
	const greeter scoll.ServiceID = 103
	agents, servers, stop := onLoopback(3)
	defer stop()
	for i, agent := range agents {
		err := agent.Handle(greeter, scoll.Handler{
			Inline: true, // it does not block
			Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
				return fmt.Appendf(nil, "%s, this is server %d", q.Payload, i), nil
			},
		})
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	group, err := agents[0].NewGroup(ctx, greeter, servers...)
	if err != nil {
		panic(err)
	}
	result, err := group.Call(ctx, scoll.CallConfig{Payload: []byte("hello"), Only: servers[1:]})
	if err != nil {
		panic(err)
	}
	for _, answer := range result.Each() { // the first value, not used here, is the NID of the server
		fmt.Printf("%s\n", answer)
	}
	// Output:
	// hello, this is server 1
	// hello, this is server 2
}

// onLoopback starts servers in this process. Its function stops them.
func onLoopback(count int) (agents []*scoll.Agent, servers []nid.NID, stop func()) {
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		panic(err)
	}
	var nodes []*node.Node
	for i := range count {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(127.0.86.%d)", i+1), AcceptPort: port})
		if err != nil {
			panic(err)
		}
		agent, err := scoll.New(n.Table(), scoll.Config{})
		if err != nil {
			panic(err)
		}
		nodes, agents, servers = append(nodes, n), append(agents, agent), append(servers, n.NIDs()[0])
	}
	return agents, servers, func() {
		for i, n := range nodes {
			_ = agents[i].Close(context.Background()) // returns at once, because no callback runs
			_ = n.Close(context.Background())         // returns at once, because no message waits
		}
	}
}
