package o2iblnd

import (
	"testing"

	"ulnet/lnd/o2iblnd/kib"
)

// requests returns a harness whose set has sent n requests to a peer with the stamp 5.
func requests(t *testing.T, n int) (*setHarness, ask) {
	t.Helper()
	h := newSetHarness(t, lowNID, highNID)
	h.s.cfg.connsPerPeer, h.s.stamp = n, 5
	a := h.s.ask()
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != n {
		t.Fatalf("%d requests, want %d", out.connect, n)
	}
	return h, a
}

// TestRejectedByNext: a peer accepts the first of two requests, starts again, and rejects the second one. The connection
// to the earlier incarnation ends, because the reject names another stamp (o2iblnd-wire §7.4).
func TestRejectedByNext(t *testing.T) {
	for _, why := range []kib.Why{kib.ConnStale, kib.MsgQueueSize, kib.RDMAFrags} {
		for _, stamp := range []uint64{5, 6} {
			h, a := requests(t, 2)
			h.step(peerIn{kind: peerConnected, ask: a, queued: true, private: h.ack(nil)})
			r := kib.Reject{Stamp: stamp, Params: kib.ConnParams{QueueDepth: 4, MaxFrags: 16}}
			if out := h.reject(a, why, r); out.closeStale != (stamp != 5) {
				t.Errorf("%v with stamp %d: closes connections to earlier incarnations: %v", why, stamp, out.closeStale)
			}
		}
	}
	h, a := requests(t, 1)
	if out := h.reject(a, kib.ConnStale, kib.Reject{Stamp: 6}); out.closeStale || h.s.stamp != 6 {
		t.Errorf("without a connection: %+v, stamp %d", out, h.s.stamp)
	}
}

// TestManyRejected: a peer rejects each of many requests twice, as after a restart with a shorter queue. All of them are
// repeated at once. Requests that waited for a pause to end would be dropped when the first connection is established.
func TestManyRejected(t *testing.T) {
	for _, n := range []int{8, maxConnsPerPeer} {
		h, a := requests(t, n)
		for _, why := range []kib.Why{kib.ConnStale, kib.MsgQueueSize} {
			next := 0
			for range n {
				next += h.reject(a, why, kib.Reject{Stamp: 6, Params: kib.ConnParams{QueueDepth: 4, MaxFrags: 16}}).connect
			}
			if a = h.s.ask(); next != n {
				t.Errorf("%d of %d requests are repeated after %v", next, n, why)
			}
		}
	}
}
