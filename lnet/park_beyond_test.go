package lnet_test

import (
	"syscall"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
)

// TestParkBeyond: a message to a node beyond a gateway waits for discovery once. When that has ended, the
// message leaves, even if discovery still does not count as up to date: discovery was turned off
// meanwhile, or the node does not list the NID.
func TestParkBeyond(t *testing.T) {
	spec.Covers(t, "LN-11")
	r := newRouted(t)
	r.node.SetPeer(upToDate(peerA))
	asked := r.asked()
	r.send(peer1, 1)
	if len(r.inFlight()) != 0 {
		t.Fatal("it did not wait")
	}
	known := upToDate(peer1)
	known.Flags |= lnet.PeerRediscover
	r.node.SetPeer(known)
	r.node.Discovered(peer1, nil)
	wantBits(t, "in flight", r.inFlight(), 1)
	if len(*asked) != 1 {
		t.Errorf("asked for %v, want %v once", *asked, peer1)
	}
	r.finalize(nil)
	r.node.FailParked(syscall.ESHUTDOWN) // ends what waits still
	r.wantResult(1, nil)
}

// TestResentBeyond: a message to a node beyond a gateway, whose first try has failed, is sent again without waiting for
// another discovery.
func TestResentBeyond(t *testing.T) {
	spec.Covers(t, "LN-11")
	synctest.Test(t, func(t *testing.T) {
		r := newRouted(t)
		r.routes(peerA, routing, upToDate(peerB).NIs[0])
		r.node.SetPeer(upToDate(peer1))
		asked := r.asked()
		tries := 0
		r.onSend = func(d *driver, m *lnd.Message) {
			tries++
			var err error
			if tries == 1 {
				r.node.ForgetPeerNID(peer1)
				err = lnd.Failed(lnd.RemoteDropped, syscall.ECONNRESET)
			}
			d.up.Finalize(m, err)
		}
		r.send(peer1, 1)
		synctest.Wait()
		if tries != 2 || len(*asked) > 0 {
			t.Errorf("%d tries, asked for %v; want 2 tries without discovery", tries, *asked)
		}
		r.node.FailParked(syscall.ESHUTDOWN)
		r.wantResult(1, nil)
	})
}
