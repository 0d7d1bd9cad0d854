package node_test

import (
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// TestCrossingGets: two nodes fetch from each other, more at a time than there are peer credits. Over
// RDMA a GET keeps its credits until the peer has written the data. If the writing needed credits of the
// peer's own, both nodes would wait for each other as soon as GETs had all credits.
func TestCrossingGets(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "LN-23")
	for _, net := range []string{"tcp", "o2ib"} {
		t.Run(net, func(t *testing.T) {
			t.Parallel()
			hosts, err := loopback.FreeHosts(2)
			if err != nil {
				t.Fatal(err)
			}
			port := freePort()
			a := start(t, node.Config{Networks: net + "(" + hosts[0].String() + ")", AcceptPort: port})
			b := start(t, node.Config{Networks: net + "(" + hosts[1].String() + ")", AcceptPort: port})
			putAndGet(t, a, b, 1) // the nodes discover each other first, so that the GETs begin at once
			offer(t, a)
			offer(t, b)
			var both sync.WaitGroup
			both.Go(func() { fetchAll(t, a, b) })
			both.Go(func() { fetchAll(t, b, a) })
			both.Wait()
		})
	}
}

const (
	crossingPortal = 21
	crossingSize   = 64 << 10 // too long for a message without RDMA
	crossingGets   = 100
)

// offer offers memory to any number of GETs.
func offer(t *testing.T, n *node.Node) {
	t.Helper()
	me, err := n.Table().MEAttach(crossingPortal, portals.Match{}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Table().MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, crossingSize)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpGet | portals.ManageRemote,
	}, portals.Retain); err != nil {
		t.Fatal(err)
	}
}

// fetchAll starts all GETs from one node to another at once, and waits for their answers.
func fetchAll(t *testing.T, from, to *node.Node) {
	ended := make(chan error, 2*crossingGets)
	for range crossingGets {
		md, err := from.Table().MDBind(portals.MD{
			Segments: []lnd.Segment{make([]byte, crossingSize)}, Threshold: 2,
			Handler: func(e *portals.Event) {
				if e.Kind == portals.EventReply || e.Err != nil {
					ended <- e.Err
				}
			},
		}, portals.Unlink)
		if err == nil {
			err = from.Table().Get(portals.GetRequest{
				MD: md, Target: nid.ProcessID{NID: to.NIDs()[0], PID: nid.LustrePID}, Portal: crossingPortal,
			})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
	limit := time.After(2 * time.Minute)
	for i := range crossingGets {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%d GETs of %v have their answers, then: %v", i, from.NIDs()[0], err)
				return
			}
		case <-limit:
			t.Errorf("%d GETs of %v have their answers in two minutes", i, from.NIDs()[0])
			return
		}
	}
}
