package node_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// TestFailingChangesNothing: if a request names several things and the last of them fails, none
// of them has been done.
func TestFailingChangesNothing(t *testing.T) {
	n, err := newTCPNode(t, func(c *config.Config) {
		c.TCP.SockTimeout = 9 * time.Second
	})
	if err != nil {
		t.Fatal(err)
	}
	id := func(text string) nid.NID { return nid.MustParse(text) }
	own := id(address + "@tcp")
	if err := n.AddPeer(node.AddPeerRequest{Primary: id("127.0.3.9@tcp"), NIDs: []nid.NID{id("127.0.3.9@tcp1")}}); err != nil {
		t.Fatal(err)
	}
	if err := n.AddRoutes(node.AddRoutesRequest{Nets: []string{"tcp9"}, Gateways: []string{"127.0.2.9@tcp"}, Hops: -1, Sensitivity: 1}); err != nil {
		t.Fatal(err)
	}
	before := exported(t, n, (*tree.Tree).Saved)
	health := func() int { return n.Status().NIs[1].NISnapshot.Health }
	if err := n.SetNIHealth(node.HealthRequest{NID: own, Value: 900}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"net add", n.AddNetworks(node.AddRequest{Networks: "tcp1(127.0.0.65,127.0.0.66,no-such-if)"}), syscall.ENETDOWN},
		{"net add of one that there is", n.AddNetworks(node.AddRequest{Networks: "tcp1(127.0.0.65),tcp(" + address + ")"}), syscall.EEXIST},
		{"peer add of several", n.AddPeer(node.AddPeerRequest{
			Primary: id("127.0.3.1@tcp"), Peers: []nid.NID{id("127.0.3.2@tcp"), id("127.0.3.9@tcp1"), id("127.0.3.3@tcp")},
		}), 0},
		{"peer add of several, also of one that there is", n.AddPeer(node.AddPeerRequest{
			Primary: id("127.0.3.9@tcp"), Peers: []nid.NID{id("127.0.3.8@tcp"), id("127.0.3.8@tcp"), id("127.0.3.9@tcp1")},
		}), syscall.EEXIST},
		{"peer add with NIDs", n.AddPeer(node.AddPeerRequest{Primary: id("127.0.3.1@tcp"), NIDs: []nid.NID{id("127.0.3.1@tcp1"), id("127.0.3.9@tcp1")}}), 0},
		{"peer add of NIDs to one that there is", n.AddPeer(node.AddPeerRequest{Primary: id("127.0.3.9@tcp"), NIDs: []nid.NID{id("127.0.3.9@tcp2"), id("0@lo")}}), 0},
		{"peer set", n.SetPeerState(node.PeerStateRequest{NID: id("127.0.3.9@tcp"), State: 1, Health: new(1001)}), syscall.EINVAL},
		{"route add", n.AddRoutes(node.AddRoutesRequest{
			Nets: []string{"tcp7", "tcp8", "tcp9"}, Gateways: []string{"127.0.2.8@tcp", "127.0.2.9@tcp"}, Hops: -1, Sensitivity: 1,
		}), syscall.EEXIST},
		{"set", n.Set(node.Setting{Name: "transaction_timeout", Value: 1}), syscall.EINVAL},
		{"set of routing", n.Set(node.Setting{Name: "routing", Value: 2}), syscall.EINVAL},
		{"set of buffers", n.Set(node.Setting{Name: "large_buffers", Value: -1}), syscall.EINVAL},
		{"net set", n.Tune(node.TuneRequest{NID: own, ConnsPerPeer: new(3), Health: new(1001)}), syscall.EINVAL},
		{"net set of a time-out", n.Tune(node.TuneRequest{Net: "tcp", ConnsPerPeer: new(3), Timeout: 5 * time.Second}), syscall.EOPNOTSUPP},
	} {
		if c.err == nil || c.want != 0 && !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
	if after := exported(t, n, (*tree.Tree).Saved); after != before {
		t.Errorf("after the failures\n%s\nbefore\n%s", after, before)
	}
	if known := n.PeersOf(id("127.0.3.9@tcp")).Known; len(known) != 1 || known[0].Flags == 1 {
		t.Errorf("the peer is %+v, and has the state that came with a wrong health", known)
	}
	if got := health(); got != 900 {
		t.Errorf("health %d, want 900", got)
	}
}

// TestOwnTimeout: a timeout for drivers is refused if the configuration sets one for the driver;
// the error names the key. Otherwise the timeout takes effect.
func TestOwnTimeout(t *testing.T) {
	for _, own := range []time.Duration{0, 9 * time.Second} {
		n, err := newTCPNode(t, func(c *config.Config) { c.TCP.SockTimeout = own })
		if err != nil {
			t.Fatal(err)
		}
		err = n.Tune(node.TuneRequest{Net: "tcp", Timeout: 33 * time.Second})
		if own == 0 && err != nil {
			t.Errorf("without a time-out of its own: %v", err)
		}
		if want := "the time-out of " + address + "@tcp is 9 seconds by sock_timeout in the configuration, which wins"; own > 0 && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
