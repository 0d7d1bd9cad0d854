package node_test

import (
	"net/netip"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnd/lndtest/loopback"
)

// TestImportNetZero: in a file, tcp0 means the network tcp. If the file has other tunables than the NI on tcp, the
// difference is found, and removing the items of the file removes the NI and the route.
func TestImportNetZero(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := newTCPNode(t, func(c *config.Config) { c.Networks, c.AcceptPort = "tcp(127.0.0.2)", int(port) })
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Read([]byte("net:\n- net type: tcp0\n  local NI(s):\n  - interfaces:\n      0: 127.0.0.2\n    tunables:\n      peer_credits: 16\n" +
		"route:\n- net: o2ib0\n  gateway: 127.0.0.3@tcp0\n"))
	if err != nil {
		t.Fatal(err)
	}
	now, err := n.Editor().Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other := tree.Retuned(now, f); len(other) != 1 || other[0].Type != "tcp" {
		t.Errorf("networks with other tunables: %+v", other)
	}
	f.Sections[0], f.Sections[1] = f.Sections[1], f.Sections[0] // a route is removed before its network
	imported(t, n, "route:\n- net: o2ib\n  gateway: 127.0.0.3@tcp\n")
	if r := tree.Apply(t.Context(), n.Editor(), tree.Del, f); len(r.Errs) > 0 || len(n.NIDs()) > 0 || len(n.RoutesNow()) > 0 {
		t.Errorf("removed are %d items, errors %v; left are NIDs %v and routes %v", len(r.Done), r.Errs, n.NIDs(), n.RoutesNow())
	}
}
