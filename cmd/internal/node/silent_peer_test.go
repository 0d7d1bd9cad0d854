package node_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// nodeWithUnsent starts a node on tcp and tcp1 with a message to a peer that never answers the handshake of a
// connection, so that the message cannot leave. The editor that it returns removes networks without waiting for
// their messages.
func nodeWithUnsent(t *testing.T) (*node.Node, *node.Editor) {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.75"), netip.MustParseAddr("127.0.0.76"))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", fmt.Sprintf("127.0.0.76:%d", port)) // accepts no connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	n, err := newTCPNode(t, func(c *config.Config) {
		c.Networks, c.AcceptPort = "tcp(127.0.0.75),tcp1(127.0.0.75)", int(port)
	})
	if err != nil {
		t.Fatal(err)
	}
	md, err := n.Table().MDBind(portals.MD{Threshold: portals.ThresholdInfinite}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Table().Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: nid.MustParse("127.0.0.76@tcp")}, Portal: 4}); err != nil {
		t.Fatal(err)
	}
	e := n.Editor()
	remove := e.RemoveNet
	e.RemoveNet = func(ctx context.Context, r node.RemoveRequest) (node.RemovedNet, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return remove(ctx, r)
	}
	return n, e
}

// TestUnconfigureWithUnsent: LNet is taken down although a message could not be sent. The answer has a warning about
// the message, and no error.
func TestUnconfigureWithUnsent(t *testing.T) {
	n, _ := nodeWithUnsent(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone, err := n.Configure(ctx, node.ConfigureRequest{})
	if err != nil || len(gone.Warnings) != 1 || !strings.Contains(gone.Warnings[0], "messages were not sent") {
		t.Errorf("warnings %q, error %v", gone.Warnings, err)
	}
	if ids := n.NIDs(); len(ids) > 0 || !n.Status().Unconfigured {
		t.Errorf("the node still has %v", ids)
	}
}

// TestRemoveWithUnsent: 'lnetctl import --del' removes the two networks and the peer in a file although a message on
// the first network could not be sent. The result has a warning about the message, and no error.
func TestRemoveWithUnsent(t *testing.T) {
	n, e := nodeWithUnsent(t)
	if err := e.AddPeer(t.Context(), tree.Peer{Primary: nid.MustParse("127.0.0.77@tcp1")}); err != nil {
		t.Fatal(err)
	}
	f, err := tree.Read([]byte("net:\n- net type: tcp\n- net type: tcp1\npeer:\n- primary nid: 127.0.0.77@tcp1\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := tree.Apply(t.Context(), e, tree.Del, f)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "messages were not sent") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if len(r.Errs) > 0 || len(r.Done) != 3 {
		t.Errorf("%d items are removed, errors %v", len(r.Done), r.Errs)
	}
	if ids := n.NIDs(); len(ids) > 0 {
		t.Errorf("the node still has %v", ids)
	}
	if p := n.PeersOf(nid.MustParse("127.0.0.77@tcp1")); len(p.Known) > 0 {
		t.Errorf("the node still has the peer %v", p.Known)
	}
}
