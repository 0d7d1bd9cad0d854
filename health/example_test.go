package health_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"ulnet/health"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// A program becomes a client of a cluster: it finds a master, and stays
// connected until it closes the connection.
func ExampleDial() {
	n, err := node.Start(node.Config{Networks: "tcp(eth0)", DialOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close(context.Background())
	servers := []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")}

	c, err := health.Dial(n.Table(), health.DialConfig{
		Name: "compute-17", Servers: servers,
		Attach: servers,
		Notify: func(e health.ClientEvent) { log.Println(e.Kind, e.Server, e.Code) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())
	master, err := c.Wait(context.Background())
	fmt.Println(master, err)
}

// A program becomes a server that watches over clients.
func ExampleStartServer() {
	var (
		table   *portals.Table     // the portal table of the program's node
		servers []nid.NID          // all servers of the cluster
		view    health.View        // for example a *gossip.Agent
		all     health.Broadcaster // sends to all other servers
		store   health.Store       // nil: no record survives a restart
	)
	serve, stop := func(health.ClientID) {}, func(health.ClientID) {}

	a, err := health.StartServer(table, health.AgentConfig{
		Servers:     servers,
		View:        view,
		Broadcaster: all,
		Store:       store,
		Wall:        time.Now,
		Notify: func(e health.Event) {
			switch e.Kind {
			case health.ClientSuspended, health.ClientEvicted:
				stop(e.Client) // refuse the client's requests and free its locks
			case health.ClientConnected, health.ClientRecovered:
				serve(e.Client)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close(context.Background())
}
