package fault_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// A node whose PUTs come late and whose GETs are lost: its ping, which is a GET, fails.
func Example() {
	plan := fault.New(fault.Config{Clock: machine.RealClock()})
	for _, text := range []string{"type PUT latency 20ms±5ms reorder 10%", "type GET loss 100%"} {
		rule, err := fault.ParseRule(text)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := plan.Add(rule); err != nil {
			log.Fatal(err)
		}
	}
	n, err := node.Start(node.Config{Networks: "lo", Wrap: func(d lnd.Driver) lnd.Driver { return fault.Wrap(d, plan) }})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = discovery.Ping(ctx, n.Table(), nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}, discovery.PingOptions{})
	fmt.Println(err)
	// Output:
	// ping 0@lo: context deadline exceeded
}
