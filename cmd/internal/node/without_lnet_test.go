package node_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// TestNothingWithoutLNet: while LNet is not configured on the node, it accepts no networks, peers, rules and routes,
// so that these cannot be in the way of the configured ones when LNet is configured again.
func TestNothingWithoutLNet(t *testing.T) {
	n := startLoaded(t, loaded(t, freePort(t)+"networks: tcp(127.0.0.81)\npeer: [{primary nid: 127.0.0.7@tcp}]\nudsp: [{src: tcp, priority: 1}]\n"))
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"network", n.AddNetworks(node.AddRequest{Networks: "tcp1(127.0.0.82)"}), syscall.ESHUTDOWN},
		{"route", n.AddRoutes(node.AddRoutesRequest{Nets: []string{"tcp7"}, Gateways: []string{"127.0.0.9@tcp"}, Hops: 1, Sensitivity: 1}), syscall.ENETDOWN},
		{"peer", n.AddPeer(node.AddPeerRequest{Primary: nid.MustParse("127.0.0.8@tcp"), NIDs: []nid.NID{nid.MustParse("127.0.0.7@tcp")}}), syscall.ENETDOWN},
		{"rule", n.AddUDSP(node.AddUDSP{Rule: udsp.Rule{Src: udspPattern(t, "tcp"), Priority: 1}}), syscall.ENETDOWN},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
	if page := n.Peers(nid.NID{}, node.MaxPeerPage); len(page.Known) > 0 || len(n.UDSP().Rules) > 0 {
		t.Errorf("peers %v, rules %v", page.Known, n.UDSP().Rules)
	}
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{Up: true, All: true}); err != nil {
		t.Error(err)
	}
}

// TestConfiguredRuleTwice: if the configuration has a selection rule twice, the node starts, and has the rule once.
func TestConfiguredRuleTwice(t *testing.T) {
	l := loaded(t, freePort(t)+"networks: tcp(127.0.0.81)\nudsp: [{src: tcp, priority: 1}]\n")
	l.UDSP = append(l.UDSP, l.UDSP[0])
	if rules := startLoaded(t, l).UDSP().Rules; len(rules) != 1 {
		t.Errorf("rules %v", rules)
	}
}
