package node_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// takeDown takes LNet down on a node.
func takeDown(t *testing.T, n *node.Node) {
	t.Helper()
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
}

var upAll = node.ConfigureRequest{Up: true, All: true}

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

// TestConfigureKeepsSettings: settings stay as they are while LNet is taken down and configured again.
func TestConfigureKeepsSettings(t *testing.T) {
	n := startLoaded(t, loaded(t, freePort(t)+"networks: tcp(127.0.0.81)\navoid_asym_router_failure: 1\n"))
	for _, s := range []node.Setting{
		{Name: "drop_asym_route", Value: 1},
		{Name: "router_sensitivity", Value: 50},
		{Name: "avoid_asym_router_failure", Value: 0},
		{Name: "alive_router_check_interval", Value: 9},
		{Name: "retry_count", Value: 1},
		{Name: "max_interfaces", Value: 77},
	} {
		if err := n.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	before := state(t, n)
	takeDown(t, n)
	if _, err := n.Configure(t.Context(), upAll); err != nil {
		t.Fatal(err)
	}
	if after := state(t, n); after != before || !strings.Contains(after, "drop_asym_route: 1") {
		t.Errorf("configured again\n%s\nbefore\n%s", after, before)
	}
}
