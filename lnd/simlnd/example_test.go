package simlnd_test

import (
	"fmt"
	"log"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Whole stacks in virtual time: host 1 sends a PUT to host 0.
func Example() {
	boot := func(h, _ *simlnd.Host) {
		node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
		table := portals.New(node)
		if _, err := node.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net}); err != nil {
			log.Fatal(err)
		}
		inbox := new(portals.Inbox)
		err := inbox.Open(table, portals.InboxConfig{Portal: 7, Handle: func(e *portals.Event, data []byte) {
			fmt.Printf("%v says %q\n", e.Initiator.NID, data)
		}})
		if err != nil {
			log.Fatal(err)
		}
		h.Data = table
	}
	fabric, err := simlnd.New(simlnd.Config{Nodes: 2, Boot: boot})
	if err != nil {
		log.Fatal(err)
	}
	fabric.At(time.Second, func() {
		fabric.Do(1, func(h *simlnd.Host) {
			table := h.Data.(*portals.Table)
			md, err := table.MDBind(portals.MD{Segments: []lnd.Segment{[]byte("hello")}, Threshold: 1}, portals.Unlink)
			if err == nil {
				err = table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: simlnd.NID(sim.NodeID(0)), PID: nid.LustrePID}, Portal: 7})
			}
			if err != nil {
				log.Fatal(err)
			}
		})
	})
	if err := fabric.Run(10 * time.Second); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 10.0.0.2@tcp says "hello"
}
