package zone_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/portals/node"
)

// rack has the bootstrap nodes. A node that joins asks them first, so they should be nodes that
// are likely to run.
var rack = []zone.ID{zone.MustParseID("n1=127.0.85.1@tcp")}

// member is a node that takes part in a zone.
type member struct {
	*node.Node
	*zone.Agent
}

// join starts a node and joins the zone. A program with a host of its own leaves out Self:
// it is by default the name of the host with the NIDs of the node.
func join(cfg node.Config, self string) (m member, err error) {
	if m.Node, err = node.Start(cfg); err != nil {
		return m, err
	}
	m.Agent, err = zone.New(m.Table(), zone.Config{
		Zone: "rack1", Self: zone.MustParseID(self), Bootstrap: rack,
	})
	if err != nil {
		return m, err
	}
	return m, m.Join(0)
}

// Two nodes of a zone, here in one process. The first is told that the other one joins, which
// attribute it writes, and that it leaves.
func Example() {
	port, err := loopback.FreePort(netip.IPv4Unspecified()) // one TCP port for all nodes; without AcceptPort it is 988
	if err != nil {
		log.Fatal(err)
	}
	n1, err := join(node.Config{Networks: "tcp(127.0.85.1)", AcceptPort: port}, "n1=127.0.85.1@tcp")
	if err != nil {
		log.Fatal(err)
	}
	events := make(chan zone.Event, 8)
	n1.Watch(func(e zone.Event) { events <- e })

	n2, err := join(node.Config{Networks: "tcp(127.0.85.2)", AcceptPort: port}, "n2=127.0.85.2@tcp")
	if err != nil {
		log.Fatal(err)
	}
	e := <-events
	fmt.Println(e.ID.Name(), e.Kind)
	if err := n2.Set("role", []byte("mds")); err != nil {
		log.Fatal(err)
	}
	e = <-events
	fmt.Printf("%s says %s=%s\n", e.ID.Name(), e.Attributes[0].Key, e.Attributes[0].Value)
	if err := n2.Leave(3); err != nil {
		log.Fatal(err)
	}
	e = <-events
	fmt.Println(e.ID.Name(), e.Kind, e.Cause, e.Code)

	for _, m := range []member{n2, n1} {
		_ = m.Agent.Close(context.Background())
		_ = m.Node.Close(context.Background()) // no deadline is needed: node n1 has nothing left to send
	}
	// Output:
	// n2 joined
	// n2 says role=mds
	// n2 left said 3
}
