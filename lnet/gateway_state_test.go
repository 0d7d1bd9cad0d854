package lnet_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/recovery"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// TestGatewayDown: a gateway that fails its check is not used, and its connections are
// closed; a message from behind it, or a check that succeeds, makes it usable again.
func TestGatewayDown(t *testing.T) {
	spec.Covers(t, "RT-12", "RT-17")
	r := newRouted(t)
	r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
	r.up.arrive = nil
	r.send(peer1, 1)
	r.finalize(nil)
	r.node.GatewayChecked(peerA, syscall.ETIMEDOUT)
	r.node.GatewayChecked(peerA, syscall.ETIMEDOUT)
	if len(r.cut) != 1 || r.cut[0] != peerA {
		t.Errorf("connections closed: %v, want those of %v once", r.cut, peerA)
	}
	r.send(peer1, 2)
	r.wantResult(2, syscall.EHOSTUNREACH)
	if rt := r.node.Routes()[0]; rt.Alive || !rt.SingleHop || rt.Reason == "" {
		t.Errorf("%+v", rt)
	}
	if why := r.arrives(r.ni, from(peerA, peer1)); why != "not dropped" {
		t.Fatalf("dropped as %q", why)
	}
	r.send(peer1, 3)
	r.finalize(nil)
	r.wantResult(3, nil)
	r.node.GatewayChecked(peerA, syscall.ECONNREFUSED)
	r.node.GatewayChecked(peerA, nil)
	r.send(peer1, 4)
	r.finalize(nil)
	r.wantResult(4, nil)
}

// TestGatewayTells: the state that a gateway reports decides whether its routes are used.
func TestGatewayTells(t *testing.T) {
	spec.Covers(t, "RT-10", "RT-11")
	r := newRouted(t)
	changes := 0
	r.node.OnRouteChange(func() { changes++ })
	far := wire.NIStatus{NID: gwFar, Status: wire.StatusUp}
	alive := func(want bool) {
		t.Helper()
		if rt := r.node.Routes()[0]; rt.Alive != want {
			t.Errorf("alive %v (%s), want %v", rt.Alive, rt.Reason, want)
		}
	}
	alive(true)
	r.routes(peerA, plain, far)
	alive(false)
	r.routes(peerA, routing, far)
	alive(true)
	if changes != 1 {
		t.Errorf("%d changes told, want 1: the second info has the same NIDs", changes)
	}
	far.Status = wire.StatusDown
	r.routes(peerA, routing, far)
	alive(false)
	asymmetric := route.DefaultSettings()
	asymmetric.AvoidAsymmetric = false
	r.node.SetRouteSettings(asymmetric, false)
	alive(true)
}

// TestGatewaySick: a route is down while the gateway's NI on the net of this node is not healthy enough.
func TestGatewaySick(t *testing.T) {
	spec.Covers(t, "RT-2", "RT-9")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	sensitive := route.New(tcp1, peerA)
	sensitive.Sensitivity = 300
	// Discovery is on, because without it the health of gateways does not decide about routes.
	r.node.SetDiscoverer(func(nid.NID) {})
	if err := r.node.AddRoute(sensitive); err != nil {
		t.Fatal(err)
	}
	r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
	if err := r.node.SetPeerHealth(peerA, 999); err != nil {
		t.Fatal(err)
	}
	if rt := r.node.Routes()[0]; rt.Alive {
		t.Error("the route is alive")
	}
	half := route.DefaultSettings()
	half.Sensitivity = 50
	r.node.SetRouteSettings(half, false)
	if rt := r.node.Routes()[0]; !rt.Alive {
		t.Errorf("the route is down: %s", rt.Reason)
	}
}

// TestGatewayNotBlamed: an answer that does not come lowers the health of the gateway by which its request went, so that
// routes by it are down. It does not if the gateway has brought a message, or sent one of its own, since the request
// was sent: then the routes serve for messages to the other nodes beyond it.
func TestGatewayNotBlamed(t *testing.T) {
	spec.Covers(t, "HV-12")
	for _, c := range []struct {
		name   string
		source nid.NID // source of a message that comes by the gateway; not valid: none comes
		pid    nid.PID // process of the gateway's host that sends the message
		at     time.Duration
		health int
	}{
		{"nothing comes", nid.NID{}, nid.LustrePID, 0, 900},
		{"another node beyond is heard before", peer1, nid.LustrePID, time.Second, 900},
		{"another node beyond is heard since", peer1, nid.LustrePID, 3 * time.Second, 1000},
		{"another process of its host is heard since", peerA, nid.UserPID | 7, 3 * time.Second, 900},
		{"the gateway is heard since", peerA, nid.LustrePID, 3 * time.Second, 1000},
	} {
		r := newRouted(t)
		r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
		r.send(peer1, 1)
		r.finalize(nil)
		if c.source.IsValid() {
			d := from(peerA, c.source)
			d.From.PID, d.Header.SrcPID = c.pid, c.pid
			d.ReceivedAt = r.node.Clock().Now() + c.at
			r.arrives(r.ni, d)
			r.up.Delivered(r.ni, d, nil)
		}
		r.node.CountResponseTimeout(peerA, r.node.Clock().Now()+2*time.Second)
		if got, _, ok := r.node.Condition(recovery.Target{NID: peerA}); !ok || got != c.health {
			t.Errorf("%s: health %d, want %d", c.name, got, c.health)
		}
	}
}

// TestCheckBeforeUse: with check_routers_before_use a route is down until its gateway has
// answered.
func TestCheckBeforeUse(t *testing.T) {
	spec.Covers(t, "RT-11")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	first := route.DefaultSettings()
	first.CheckFirst = true
	r.node.SetRouteSettings(first, false)
	if err := r.node.AddRoute(route.New(tcp1, peerA)); err != nil {
		t.Fatal(err)
	}
	r.send(peer1, 1)
	r.wantResult(1, syscall.EHOSTUNREACH)
	if r.node.GatewaysChecked() {
		t.Error("the gateway counts as checked")
	}
	r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
	r.node.GatewayChecked(peerA, nil)
	if !r.node.GatewaysChecked() {
		t.Error("the gateway does not count as checked")
	}
	r.send(peer1, 2)
	r.finalize(nil)
	r.wantResult(2, nil)
}

// TestGatewaySensitivity: a failure reduces the health of a gateway by the sensitivity that
// its routes give.
func TestGatewaySensitivity(t *testing.T) {
	spec.Covers(t, "RT-2")
	for _, c := range []struct{ own, want int }{{1, 900}, {250, 750}, {1000, 0}} {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		to := route.New(tcp1, peerA)
		to.Sensitivity = c.own
		if err := r.node.AddRoute(to); err != nil {
			t.Fatal(err)
		}
		r.send(peer1, 1)
		r.finalize(lnd.Failed(lnd.RemoteTimeout, syscall.ETIMEDOUT))
		if got, _, ok := r.node.Condition(recovery.Target{NID: peerA}); !ok || got != c.want {
			t.Errorf("sensitivity %d: health %d, want %d", c.own, got, c.want)
		}
	}
}
