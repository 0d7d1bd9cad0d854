package lnet_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPathToPeer: the path to a peer, also one that nothing was sent to, is explained.
func TestPathToPeer(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	p, err := r.node.Path(nid.NID{}, peerA)
	if err != nil || p.NextHop != peerA || p.Destination != peerA {
		t.Errorf("path %+v, error %v; want next hop and destination %v", p, err, peerA)
	}
}
