package discovery_test

import (
	"context"
	"fmt"
	"log"

	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	start "ulnet/portals/node"
)

// A ping tells a node's NIDs and what it can do. Here a node asks itself.
func ExamplePing() {
	n, err := start.Start(start.Config{Networks: "tcp(127.0.84.9)", DialOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close(context.Background())
	info, err := discovery.Ping(context.Background(), n.Table(), nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}, discovery.PingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, ni := range info.NIs {
		fmt.Println(ni.NID, ni.Status)
	}
	fmt.Println("multi-rail:", info.Features.Has(discovery.PeerFeatures))
	// Output:
	// 127.0.84.9@tcp up
	// multi-rail: true
}
