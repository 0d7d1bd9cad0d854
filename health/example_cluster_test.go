package health_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"ulnet/health"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// alone acts as discovery and as collectives for a cluster of one server.
type alone struct{}

func (alone) Alive(nid.NID) (bool, uint64)                    { return true, 0 }
func (alone) Counts() (alive, known int)                      { return 1, 1 }
func (alone) Quorum() bool                                    { return true }
func (alone) Watch(func(nid.NID, bool, uint64)) func()        { return func() {} }
func (alone) Broadcast(_ []byte, done func(health.Outcome))   { done(health.Outcome{}) }
func (alone) Serve(func(nid.NID, []byte, func(reply []byte))) {}

// A server and a client, here in one process: the client connects and leaves.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // all nodes use this TCP port; without the tunable AcceptPort it is 988
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	start := func(addr string) *node.Node {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(%s)", addr), AcceptPort: port})
		if err != nil {
			log.Fatal(err)
		}
		return n
	}
	servers := []nid.NID{nid.MustParse("127.0.89.1@tcp")}
	events := make(chan health.Event, 8)

	n1 := start("127.0.89.1")
	defer n1.Close(ctx)
	server, err := health.StartServer(n1.Table(), health.AgentConfig{
		Servers: servers, View: alone{}, Broadcaster: alone{}, Notify: func(e health.Event) { events <- e },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)

	n2 := start("127.0.89.2")
	defer n2.Close(ctx)
	client, err := health.Dial(n2.Table(), health.DialConfig{Name: "compute-17", Servers: servers})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Wait(ctx))
	fmt.Println(client.Close(ctx))
	for range 3 {
		e := <-events
		fmt.Printf("%v %q\n", e.Kind, e.Name)
	}
	// Output:
	// 127.0.89.1@tcp <nil>
	// <nil>
	// quorum-won ""
	// connected "compute-17"
	// evicted "compute-17"
}
