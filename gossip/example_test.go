package gossip_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// servers are the NIDs of all servers of the cluster. The list is the same on each of them.
var servers = []nid.NID{nid.MustParse("127.0.86.1@tcp"), nid.MustParse("127.0.86.2@tcp")}

// server is a node that takes part in the gossip.
type server struct {
	*node.Node
	*gossip.Agent
}

// take starts a node with an agent. It sets ColdStart, because all servers start together.
func take(cfg node.Config) (s server, err error) {
	if s.Node, err = node.Start(cfg); err != nil {
		return s, err
	}
	s.Agent, err = gossip.New(s.Table(), gossip.Config{
		Participants: servers, Interval: 200 * time.Millisecond, ColdStart: true,
	})
	return s, err
}

// Two servers, here in one process: each finds out that the other is alive.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // one TCP port for all nodes; without AcceptPort it is 988
	if err != nil {
		log.Fatal(err)
	}
	alive := make(chan string, 8)
	for _, id := range servers {
		s, err := take(node.Config{Networks: fmt.Sprintf("tcp(%v)", id.Addr()), AcceptPort: port})
		if err != nil {
			log.Fatal(err)
		}
		defer s.Node.Close(context.Background())
		defer s.Agent.Close(context.Background())
		s.Watch(func(other nid.NID, is bool, _ uint64) {
			if is && other != id {
				alive <- fmt.Sprintf("%v: %v is alive", id, other)
			}
		})
	}
	for range servers {
		fmt.Println(<-alive)
	}
	// Unordered output:
	// 127.0.86.1@tcp: 127.0.86.2@tcp is alive
	// 127.0.86.2@tcp: 127.0.86.1@tcp is alive
}
