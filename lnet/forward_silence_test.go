package lnet_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// TestSilentNetPingsItsNodes: a router pings nodes of a net from which nothing has come for half of the time after which
// it counts as down. Nodes of other nets whose messages a gateway on that net has brought are none of these, though they
// were heard last: an answer of theirs might come by another net, or not at all.
func TestSilentNetPingsItsNodes(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-16")
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		if err := r.node.AddRoute(route.New(tcp1, peerA)); err != nil {
			t.Fatal(err)
		}
		r.routes(peerA, routing)
		var pinged []nid.NID
		r.node.SetPinger(func(id nid.NID) { pinged = append(pinged, id) })
		if err := r.node.StartAsRouter(); err != nil {
			t.Fatal(err)
		}
		hear := func(by, source nid.NID) {
			time.Sleep(time.Second)
			d := from(by, source)
			d.ReceivedAt = r.node.Clock().Now()
			if why := r.arrives(r.ni, d); why != lnet.NotDropped.String() {
				t.Fatalf("the message from %v is dropped: %s", source, why)
			}
		}
		hear(peerB, peerB)
		for i := range 3 {
			hear(peerA, nid.MustParse(fmt.Sprintf("10.1.0.%d@tcp1", 10+i)))
		}
		time.Sleep(lnet.DefaultRouterSilence/2 + time.Second)
		synctest.Wait()
		if want := []nid.NID{peerB, peerA}; !slices.Equal(pinged, want) {
			t.Errorf("pinged %v, want %v", pinged, want)
		}
	})
}
