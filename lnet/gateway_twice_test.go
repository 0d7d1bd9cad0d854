package lnet_test

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// newTwice returns a node with drop_asym_route and two routes by one router: to tcp1 by its NID peerA, to tcp2 by peerB.
// A failure takes 250 from the health of the second gateway.
func newTwice(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	second := route.New(nid.MustParseNet("tcp2"), peerB)
	second.Sensitivity = 250
	if err := r.node.AddRoutes([]route.Route{route.New(tcp1, peerA), second}); err != nil {
		t.Fatal(err)
	}
	r.node.SetRouteSettings(route.DefaultSettings(), true)
	return r
}

// TestGatewayTwice: a router that is the gateway of routes by two of its NIDs leads to the nets of all of them, by
// whichever NID it sends, once discovery knows that both NIDs are the router's.
func TestGatewayTwice(t *testing.T) {
	spec.Covers(t, "RT-14")
	r := newTwice(t)
	want := func(when string, by, source nid.NID, want lnet.DropReason) {
		t.Helper()
		if why := r.arrives(r.ni, from(by, source)); why != want.String() {
			t.Errorf("%s: what comes from %v by %v is dropped as %q, want %q", when, source, by, why, want)
		}
	}
	want("unknown", peerB, peer1, lnet.AsymmetricRoute)
	r.routes(peerA, routing, wire.NIStatus{NID: peerB, Status: wire.StatusUp})
	for _, by := range []nid.NID{peerA, peerB} {
		want("known", by, peer1, lnet.NotDropped)
		want("known", by, peer2, lnet.NotDropped)
		want("known, without a route", by, nid.MustParse("10.3.0.2@tcp3"), lnet.AsymmetricRoute)
	}
	r.node.SetPeer(upToDate(peerA))
	r.node.ForgetPeerNID(peerB)
	r.node.SetPeer(upToDate(peerC, peerA))
	want("apart", peerB, peer1, lnet.AsymmetricRoute)
	want("apart", peerA, peer1, lnet.NotDropped)
}

// TestGatewayTwiceRevived: a message that comes by one NID of a router shows that the router is alive as the gateway at its
// other NID, too.
func TestGatewayTwiceRevived(t *testing.T) {
	spec.Covers(t, "RT-12")
	r := newTwice(t)
	r.routes(peerA, routing, wire.NIStatus{NID: peerB, Status: wire.StatusUp})
	for _, gw := range []nid.NID{peerA, peerB} {
		r.node.GatewayChecked(gw, syscall.ETIMEDOUT)
	}
	r.arrives(r.ni, from(peerB, peer1))
	for _, rt := range r.node.Routes() {
		if !rt.Alive {
			t.Errorf("%v: %+v", rt.Route, rt.State)
		}
	}
}

// TestGatewayTwiceSensitivity: the most sensitive route by any NID of a router counts.
func TestGatewayTwiceSensitivity(t *testing.T) {
	spec.Covers(t, "RT-2")
	r := newTwice(t)
	r.routes(peerA, routing, wire.NIStatus{NID: peerB, Status: wire.StatusDown})
	r.send(peer1, 1)
	r.finalize(lnd.Failed(lnd.RemoteTimeout, syscall.ETIMEDOUT))
	if h := r.node.Rail(peerA).Health(); h != 750 {
		t.Errorf("health %d, want 750", h)
	}
}
