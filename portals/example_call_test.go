package portals_test

import (
	"context"
	"fmt"
	stdlog "log"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// The halves of a buffer are fetched from two portals. Each is an operation of its own, with
// events and a timeout of its own.
func ExampleGetRequest() {
	n, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		stdlog.Fatal(err)
	}
	defer func() { _ = n.Close(context.Background()) }()
	table := n.Table()
	me, err := table.MEAttach(7, portals.Match{}, portals.Unlink, portals.After)
	if err != nil {
		stdlog.Fatal(err)
	}
	_, err = table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{[]byte("left")}, Threshold: 1, Options: portals.OpGet,
	}, portals.Unlink)
	if err != nil {
		stdlog.Fatal(err)
	}

	done := make(chan struct{}, 2)
	buffer := []byte("........")
	md, err := table.MDBind(portals.MD{
		Segments: []lnd.Segment{buffer}, Threshold: portals.ThresholdInfinite,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventReply {
				fmt.Println(e.OpPtr, e.MLength, e.Err)
				done <- struct{}{}
			}
		},
	}, portals.Unlink)
	if err != nil {
		stdlog.Fatal(err)
	}
	patience := []time.Duration{time.Minute, time.Millisecond}
	for i, half := range []string{"left half", "right half"} { // no node offers the right half
		err := table.Get(portals.GetRequest{
			MD: md, Target: nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}, Portal: 7 + i,
			LocalOffset: 4 * i, Length: 4, OpPtr: half, Timeout: patience[i],
		})
		if err != nil {
			stdlog.Fatal(err)
		}
	}
	<-done
	<-done
	fmt.Printf("%s\n", buffer)
	// Output:
	// left half 4 <nil>
	// right half 0 connection timed out
	// left....
}
