package zone_test

import (
	"net/netip"
	"os"
	"testing"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/portals/node"
)

// TestSelfByDefault: a node without a configured id has the name of its host, and all NIDs of
// the node.
func TestSelfByDefault(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.85.3"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Start(node.Config{Networks: "tcp(127.0.85.3),tcp1(127.0.85.3)", AcceptPort: port})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(t.Context())
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want, wrong := zone.NewID(host, n.NIDs()...)
	a, err := zone.New(n.Table(), zone.Config{Zone: "z"})
	if wrong != nil { // the name of this host is not valid for a node, which the error says
		if err == nil {
			t.Errorf("starts as %q: want %v", host, wrong)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, a)
	if err := a.Join(0); err != nil {
		t.Fatal(err)
	}
	if m := a.Members(); len(m) != 1 || m[0].ID != want || len(want.Endpoints()) != 2 {
		t.Errorf("members %v, want %v alone", m, want)
	}
	alone, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close(t.Context())
	if _, err := zone.New(alone.Table(), zone.Config{Zone: "z"}); err == nil {
		t.Error("a node that nobody can reach")
	}
}
