package node_test

import (
	"context"
	"net/netip"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// TestUnconfigureForgetsAllPeers: when LNet is down, the node knows no peers, even if there were
// more of them than one page has.
func TestUnconfigureForgetsAllPeers(t *testing.T) {
	n, err := newTCPNode(t, func(c *config.Config) { c.DiscoveryDisabled = true })
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddr("127.9.0.0")
	var ids []nid.NID
	for range node.MaxPeerPage + 10 {
		at = at.Next()
		ids = append(ids, nid.MustParse(at.String()+"@tcp"))
	}
	if err := n.AddPeer(node.AddPeerRequest{Primary: ids[0], Peers: ids[1:]}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Configure(context.Background(), node.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	if page := n.Peers(nid.NID{}, node.MaxPeerPage); len(page.Known) > 0 {
		t.Errorf("%d peers are left, such as %v", len(page.Known), page.Known[0].Primary)
	}
}
