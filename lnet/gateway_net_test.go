package lnet_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// TestGatewayNetRemoved: a route is down, and says why, while this node has no NI on a net of the gateway.
func TestGatewayNetRemoved(t *testing.T) {
	spec.Covers(t, "RT-21")
	w := newRails(t)
	tcp9, ni := nid.MustParseNet("tcp9"), w.node.NIs()[2]
	if err := w.node.AddRoute(route.New(tcp9, peer1)); err != nil {
		t.Fatal(err)
	}
	w.routes(peer1, routing)
	want := func(when string, alive bool, err error) {
		t.Helper()
		r := w.node.Routes()[0]
		if r.Alive != alive || !alive && !strings.HasPrefix(r.Reason, "this node has no NI") {
			t.Errorf("%s: %+v, want alive %v", when, r.State, alive)
		}
		w.send(nid.MustParse("10.9.0.1@tcp9"), 1)
		w.endAll()
		w.wantResult(1, err)
	}
	want("at first", true, nil)
	if err := w.node.RemoveNI(t.Context(), ni); err != nil {
		t.Fatal(err)
	}
	want("the net is removed", false, syscall.EHOSTUNREACH)
	w.node.GatewayChecked(peer1, nil)
	want("a check that was under way has ended", false, syscall.EHOSTUNREACH)
	w.drivers[self1] = &driver{id: self1}
	if _, err := w.node.AddNI(w.drivers[self1], lnd.Config{Net: self1.Net()}); err != nil {
		t.Fatal(err)
	}
	want("the net is back", true, nil)
}

// TestGatewayOtherNet: a route stays up without an NI on the net by which the gateway is configured, if the gateway is
// known to have a NID on another net of this node.
func TestGatewayOtherNet(t *testing.T) {
	spec.Covers(t, "RT-21")
	w := newRails(t)
	if err := w.node.AddRoute(route.New(nid.MustParseNet("tcp9"), peer1)); err != nil {
		t.Fatal(err)
	}
	w.routes(peer1, routing, wire.NIStatus{NID: peerA, Status: wire.StatusUp})
	if err := w.node.RemoveNI(t.Context(), w.node.NIs()[2]); err != nil {
		t.Fatal(err)
	}
	if r := w.node.Routes()[0]; !r.Alive {
		t.Errorf("%+v", r.State)
	}
	w.send(nid.MustParse("10.9.0.1@tcp9"), 1)
	w.want("then", w.by(1), [2]nid.NID{self, peerA})
	w.node.SetPeer(lnet.Peer{Primary: peerA, NIs: upToDate(peerA).NIs, Flags: lnet.PeerDiscovered})
	w.routes(peer1, routing)
	if r := w.node.Routes()[0]; r.Alive {
		t.Errorf("the gateway has lost the NID: %+v", r.State)
	}
}

// TestLastRouteRemoved: a watcher of a process behind a gateway is told when the last route to the net of the process that is
// alive is removed, and when there is one again.
func TestLastRouteRemoved(t *testing.T) {
	spec.Covers(t, "RT-18")
	for name, others := range map[string][]route.Route{
		"no route is left":                       nil,
		"one that is down is left":               {route.New(tcp1, peerC)},
		"the gateway has a route to another net": {route.New(peer2.Net(), peerA)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouted(t)
			if err := r.node.AddRoutes(others); err != nil {
				t.Fatal(err)
			}
			r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
			r.node.GatewayChecked(peerC, syscall.ETIMEDOUT)
			var told []lnet.PeerChange
			stop := r.node.WatchPeer(alive1, func(c lnet.PeerChange) { told = append(told, c) })
			defer stop()
			d := from(peerA, peer1)
			d.ReceivedAt = r.node.Clock().Now() + time.Second
			r.arrives(r.ni, d)
			if err := r.node.DeleteRoute(tcp1, peerA); err != nil {
				t.Fatal(err)
			}
			if len(told) != 2 || told[1].Up || !errors.Is(told[1].Cause, syscall.EHOSTUNREACH) {
				t.Fatalf("told %+v, want that no route is left", told)
			}
			if err := r.node.AddRoute(route.New(tcp1, peerA)); err != nil {
				t.Fatal(err)
			}
			if len(told) != 3 || !told[2].Up {
				t.Errorf("told %+v, want that it is up again", told)
			}
		})
	}
}
