package lnet_test

import (
	"errors"
	"fmt"
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

var (
	tcp1   = nid.MustParseNet("tcp1")
	peer2  = nid.MustParse("10.2.0.2@tcp2")
	gwFar  = nid.MustParse("10.1.0.7@tcp1")
	alive1 = nid.ProcessID{NID: peer1, PID: nid.LustrePID}
)

// newRouted returns a node with one NI, to which peerA is the gateway to tcp1.
func newRouted(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	if err := r.node.AddRoute(route.New(tcp1, peerA)); err != nil {
		t.Fatal(err)
	}
	return r
}

// routes records the features and NIs that a peer reports.
func (r *rig) routes(id nid.NID, features wire.Features, nis ...wire.NIStatus) {
	flags := lnet.PeerDiscovered | lnet.PeerNIDsUpToDate | lnet.PeerMultiRail
	if !features.Has(wire.FeatureRoutingDisabled) {
		flags |= lnet.PeerRouter
	}
	nis = append([]wire.NIStatus{{NID: id, Status: wire.StatusUp}}, nis...)
	r.node.SetPeer(lnet.Peer{Primary: id, NIs: nis, Features: features, Flags: flags})
}

const (
	routing = wire.FeatureNIStatus | wire.FeatureMultiRail | wire.FeatureDiscovery
	plain   = routing | wire.FeatureRoutingDisabled
)

// from returns a message with the given source that arrives from process by.
func from(by, source nid.NID) *lnd.Delivery {
	d := arriving(func(h *wire.Header) { h.SrcNID = source })
	d.From.NID = by
	return d
}

// TestRoutedSource checks from which peers a message with a source NID on another net is accepted.
func TestRoutedSource(t *testing.T) {
	spec.Covers(t, "RT-13", "RT-14", "RT-19")
	user := func(d *lnd.Delivery) { d.From.PID = nid.UserPID | 7 }
	for _, test := range []struct {
		name   string
		by     nid.NID
		source nid.NID
		known  wire.Features // features that the node by reports; 0: none
		change func(*lnd.Delivery)
		want   lnet.DropReason
		strict lnet.DropReason // reason of the drop with drop_asym_route
	}{
		{name: "a gateway", by: peerA, source: peer1},
		{name: "a gateway that says that it does not route", by: peerA, source: peer1, known: plain},
		{name: "a gateway to another net", by: peerA, source: peer2, strict: lnet.AsymmetricRoute},
		{name: "a stranger", by: peerB, source: peer1, want: lnet.ForeignSource, strict: lnet.AsymmetricRoute},
		{name: "a node that does not route", by: peerB, source: peer1, known: plain, want: lnet.ForeignSource, strict: lnet.AsymmetricRoute},
		{name: "a router that is no gateway", by: peerB, source: peer1, known: routing, strict: lnet.AsymmetricRoute},
		{name: "a router, for a net without a route", by: peerB, source: peer2, known: routing, want: lnet.ForeignSource, strict: lnet.ForeignSource},
		{name: "a gateway, for its neighbour", by: peerA, source: peerB, want: lnet.ForeignSource, strict: lnet.ForeignSource},
		{name: "a gateway, for this node", by: peerA, source: self, want: lnet.BadSource, strict: lnet.BadSource},
		{name: "a gateway, for another NID of this node", by: peerA, source: self2, want: lnet.BadSource, strict: lnet.BadSource},
		{name: "a gateway, for a node on another net of this node", by: peerA, source: near2, want: lnet.ForeignSource, strict: lnet.ForeignSource},
		{name: "a program at the gateway", by: peerA, source: peer1, change: user, want: lnet.ForeignSource, strict: lnet.ForeignSource},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				r := newRouted(t)
				if _, err := r.node.AddNI(&driver{id: self2}, lnd.Config{Net: self2.Net()}); err != nil {
					t.Fatal(err)
				}
				if test.known != 0 {
					r.routes(test.by, test.known)
				}
				want := test.want
				if strict {
					want = test.strict
				}
				r.node.SetRouteSettings(route.DefaultSettings(), strict)
				d := from(test.by, test.source)
				if test.change != nil {
					test.change(d)
				}
				if why := r.arrives(r.ni, d); why != want.String() {
					t.Errorf("drop_asym_route %v: dropped as %q, want %q", strict, why, want)
				}
			}
		})
	}
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.routes(peerA, routing)
	if why := r.arrives(r.ni, from(peerA, peer1)); why != "foreign source" {
		t.Errorf("without routes: dropped as %q", why)
	}
}

// TestRoutedResponder: an answer through a gateway comes from the process that Responder
// returns, whether or not the drivers of its net tell processes apart.
func TestRoutedResponder(t *testing.T) {
	spec.Covers(t, "PT-32")
	for _, far := range []string{"10.1.0.5@tcp1", "10.1.0.5@o2ib1"} {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		asked := nid.ProcessID{NID: nid.MustParse(far), PID: nid.UserPID | 7}
		if err := r.node.AddRoute(route.New(asked.NID.Net(), peerA)); err != nil {
			t.Fatal(err)
		}
		d := from(peerA, asked.NID)
		d.Header.SrcPID = asked.PID
		r.node.Responder(&asked)
		if got := *r.ni.Source(d); got != asked {
			t.Errorf("the answer comes from %v, asked was %v", got, asked)
		}
	}
}

// TestRouterSpeaksForNeighbour: a node on a net of this node has a NID on tcp1 too. Only the
// gateway to tcp1 may bring messages with that NID as their source, no other router.
func TestRouterSpeaksForNeighbour(t *testing.T) {
	spec.Covers(t, "RT-19")
	r := newRouted(t)
	r.node.SetPeer(upToDate(peerC, peer1))
	r.routes(peerB, routing)
	if why := r.arrives(r.ni, from(peerB, peer1)); why != "foreign source" {
		t.Errorf("by a router: dropped as %q", why)
	}
	if why := r.arrives(r.ni, from(peerB, nid.MustParse("10.1.0.77@tcp1"))); why != "not dropped" {
		t.Errorf("for another node: dropped as %q", why)
	}
	if why := r.arrives(r.ni, from(peerA, peer1)); why != "not dropped" {
		t.Errorf("by the gateway, which it may use while its other NI is down: dropped as %q", why)
	}
}

var (
	self2 = nid.MustParse("10.9.0.1@tcp9")
	near2 = nid.MustParse("10.9.0.2@tcp9")
)

// TestUnknownRouter: a peer that brings messages of others is asked once whether it is a
// router. Until its first answer these messages are taken, as kernels take them; if it does
// not answer, later ones are refused.
func TestUnknownRouter(t *testing.T) {
	spec.Covers(t, "RT-13")
	r := newRouted(t)
	var asked []nid.NID
	r.node.SetDiscoverer(func(id nid.NID) { asked = append(asked, id) })
	arrive := func(when, want string) {
		t.Helper()
		if why := r.arrives(r.ni, from(peerB, peer1)); why != want {
			t.Errorf("%s: dropped as %q, want %q", when, why, want)
		}
	}
	for range 3 {
		arrive("before it has answered", "not dropped")
	}
	if len(asked) != 1 || asked[0] != peerB {
		t.Errorf("asked %v, want %v once", asked, peerB)
	}
	r.node.Discovered(peerB, syscall.ETIMEDOUT)
	arrive("when it has not answered", "foreign source")
	if len(asked) != 2 {
		t.Errorf("asked %d times, want again after a failure", len(asked))
	}
	arrive("when it was asked again", "foreign source")
	r.routes(peerB, routing)
	arrive("then it routes", "not dropped")
	again := r.node.Peer(peerB)
	again.Flags = again.Flags&^lnet.PeerNIDsUpToDate | lnet.PeerDiscovering
	r.node.SetPeer(again)
	arrive("while it is discovered again", "not dropped")
	r.routes(peerB, plain)
	arrive("when it routes no more", "foreign source")
	r.node.Discovered(peerB, nil)
	r.node.ForgetPeerNID(peerB)
	arrive("when it was forgotten", "foreign source")
	if len(asked) != 3 {
		t.Errorf("asked %d times, want again when it was forgotten", len(asked))
	}
}

// TestUnknownRouterAnswers: an unknown router reports that it does not route. Messages that
// it brought before are taken, later ones are not.
func TestUnknownRouterAnswers(t *testing.T) {
	spec.Covers(t, "RT-13")
	r := newRouted(t)
	r.node.SetDiscoverer(func(nid.NID) {})
	if why := r.arrives(r.ni, from(peerB, peer1)); why != "not dropped" {
		t.Errorf("before it has answered: dropped as %q", why)
	}
	r.routes(peerB, plain)
	if why := r.arrives(r.ni, from(peerB, peer1)); why != "foreign source" {
		t.Errorf("when it has answered: dropped as %q", why)
	}
}

// TestUnknownRouterForgotten: a peer that was forgotten before it answered, because an administrator
// removed it or gave its NID to another peer, is asked again.
func TestUnknownRouterForgotten(t *testing.T) {
	spec.Covers(t, "RT-13")
	for name, then := range map[string]func(*rig){
		"removed": func(*rig) {},
		"configured": func(r *rig) {
			r.node.SetPeer(lnet.Peer{Primary: peerB, NIs: []wire.NIStatus{{NID: peerB}}, Flags: lnet.PeerConfigured})
		},
	} {
		r := newRouted(t)
		asked := 0
		r.node.SetDiscoverer(func(nid.NID) { asked++ })
		r.arrives(r.ni, from(peerB, peer1))
		r.node.ForgetPeerNID(peerB)
		then(r)
		r.node.Discovered(peerB, nil)
		if why := r.arrives(r.ni, from(peerB, peer1)); why != "foreign source" || asked != 2 {
			t.Errorf("%s: dropped as %q, asked %d times, want twice", name, why, asked)
		}
	}
}

// TestRoutesChangeUnderWay: no message by one gateway fails while a route by another gateway to the same net is added
// and removed.
func TestRoutesChangeUnderWay(t *testing.T) {
	spec.Covers(t, "RT-13")
	r := newRouted(t)
	r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			if err := errors.Join(r.node.AddRoute(route.New(tcp1, peerB)), r.node.DeleteRoute(tcp1, peerB)); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		r.send(peer1, 1)
		r.wantResult(1, nil)
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestSendByGateway: a message to another net goes to a NID of a gateway; its header names
// the final NID.
func TestSendByGateway(t *testing.T) {
	spec.Covers(t, "RT-15")
	r := newRouted(t)
	m := put(peer1, 1)
	m.Header.DestPID = 77
	r.node.Send(m)
	if len(r.sent) != 1 {
		_, err := r.up.result(1)
		t.Fatalf("%d messages left, ended %v", len(r.sent), err)
	}
	got := r.sent[0]
	if want := (nid.ProcessID{NID: peerA, PID: nid.LustrePID}); got.Target != want {
		t.Errorf("the next hop is %v, want %v", got.Target, want)
	}
	if h := got.Header; h.DestNID != peer1 || h.DestPID != 77 || h.SrcNID != self {
		t.Errorf("header from %v to %v, pid %d", h.SrcNID, h.DestNID, h.DestPID)
	}
	r.finalize(nil)
	r.wantResult(1, nil)
	if _, ok := r.node.LastSent(nid.ProcessID{NID: peerA, PID: nid.LustrePID}); !ok {
		t.Error("nothing was sent to the gateway")
	}
	r.node.Send(put(peer2, 2))
	r.wantResult(2, syscall.EHOSTUNREACH)
}

// TestGatewayInDiscovery: messages to nodes beyond a gateway do not wait for the discovery of the
// gateway. If they waited, they would fail with that discovery, although another gateway may be
// well.
func TestGatewayInDiscovery(t *testing.T) {
	spec.Covers(t, "RT-15")
	r := newRouted(t)
	asked := r.asked()
	r.node.SetPeer(upToDate(peer1))
	r.node.SetPeer(lnet.Peer{Primary: peerA, NIs: upToDate(peerA).NIs, Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerDiscovering})
	r.send(peer1, 1)
	if len(r.sent) != 1 || r.sent[0].Target.NID != peerA || len(*asked) > 0 {
		t.Fatalf("left: %v; asked for %v", r.sent, *asked)
	}
	r.finalize(nil)
	r.wantResult(1, nil)
	r.send(peerA, 2) // a message to the gateway itself waits
	r.node.Discovered(peerA, syscall.EHOSTUNREACH)
	r.wantResult(2, syscall.EHOSTUNREACH)
}

// TestUnknownGateway: a gateway that was never discovered, as its checks may be off, is discovered when a message leaves
// by it. The message does not wait for that.
func TestUnknownGateway(t *testing.T) {
	spec.Covers(t, "RT-15")
	r := newRouted(t)
	asked := r.asked()
	r.node.SetPeer(upToDate(peer1))
	for i, want := range []int{1, 1, 2} {
		if i == 2 {
			r.node.Discovered(peerA, syscall.EHOSTUNREACH)
		}
		r.send(peer1, uint64(i))
		if len(r.sent) != 1 || r.sent[0].Target.NID != peerA || len(*asked) != want || (*asked)[0] != peerA.String() {
			t.Fatalf("message %d left: %v; asked for %v", i, r.sent, *asked)
		}
		r.finalize(nil)
	}
	r.node.SetPeer(upToDate(peerA))
	if r.send(peer1, 3); len(*asked) != 2 {
		t.Errorf("asked for %v", *asked)
	}
	r.finalize(nil)
}

// TestAnswerThroughGateway: an answer leaves by the gateway that brought the request, and by
// a route if the node that brought it is no gateway any more.
func TestAnswerThroughGateway(t *testing.T) {
	spec.Covers(t, "RT-16")
	for name, by := range map[string]nid.NID{"a gateway": peerC, "a router that is no gateway": peerB} {
		t.Run(name, func(t *testing.T) {
			r := newRouted(t)
			r.routes(peerB, routing)
			preferred := route.New(tcp1, peerC)
			preferred.Priority = 5
			if err := r.node.AddRoute(preferred); err != nil {
				t.Fatal(err)
			}
			m := put(peer1, 1)
			m.Header.SetAck(wire.AckCmd{})
			m.Answers, m.Asker = r.ni, nid.ProcessID{NID: by, PID: nid.LustrePID}
			r.node.Send(m)
			want := peerA
			if by == peerC {
				want = peerC // peerC is used, although peerA is better
			}
			if len(r.sent) != 1 || r.sent[0].Target.NID != want || r.sent[0].Header.DestNID != peer1 {
				t.Errorf("left: %v, want by %v", r.sent, want)
			}
		})
	}
}

// TestChangeRoutes: routes can be added and removed; what is known about their gateways is
// kept.
func TestChangeRoutes(t *testing.T) {
	spec.Covers(t, "RT-1")
	r := newRouted(t)
	r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
	r.node.GatewayChecked(peerA, syscall.ETIMEDOUT)
	if err := r.node.AddRoute(route.New(tcp1, peerC)); err != nil {
		t.Fatal(err)
	}
	if err := r.node.AddRoute(route.New(tcp1, peerC)); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("twice: %v", err)
	}
	r.send(peer1, 1)
	if len(r.sent) != 1 || r.sent[0].Target.NID != peerC {
		t.Errorf("left: %v, want by %v: the other gateway is down", r.sent, peerC)
	}
	r.finalize(nil)
	targets := r.node.Gateways()
	if len(targets) != 2 || len(targets[0].NIDs) != 1 {
		t.Errorf("targets %v", targets)
	}
	if err := r.node.DeleteRoute(tcp1, peerC); err != nil {
		t.Fatal(err)
	}
	if err := r.node.DeleteRoute(tcp1, peerC); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("deleted twice: %v", err)
	}
	r.send(peer1, 2)
	r.wantResult(2, syscall.EHOSTUNREACH)
	if err := r.node.DeleteRoute(tcp1, peerA); err != nil {
		t.Fatal(err)
	}
	if nets := r.node.RoutedNets(); len(nets) != 0 || len(r.node.Gateways()) != 0 {
		t.Errorf("left: %v, %v", nets, r.node.Gateways())
	}
	if why := r.arrives(r.ni, from(peerA, peer1)); why != "foreign source" {
		t.Errorf("without routes: dropped as %q", why)
	}
}

// TestRoutedLiveness: a process behind a gateway is heard of under its own name, and counts
// as up while a route leads to it.
func TestRoutedLiveness(t *testing.T) {
	spec.Covers(t, "RT-18")
	r := newRouted(t)
	r.routes(peerA, routing, wire.NIStatus{NID: gwFar, Status: wire.StatusUp})
	var told []lnet.PeerChange
	stop := r.node.WatchPeer(alive1, func(c lnet.PeerChange) { told = append(told, c) })
	defer stop()
	at := r.node.Clock().Now() + time.Second
	d := from(peerA, peer1)
	d.ReceivedAt, d.Incarnation = at, 99
	r.arrives(r.ni, d)
	if got, ok := r.node.LastHeard(alive1); !ok || got != at {
		t.Errorf("heard %v, %v, want %v", got, ok, at)
	}
	if _, ok := r.node.LastHeardFrom(alive1, 99); ok {
		t.Error("the incarnation of the gateway counts as the node's")
	}
	if _, ok := r.node.LastHeardFrom(alive1, 0); !ok {
		t.Error("not heard from an unknown incarnation")
	}
	if _, ok := r.node.LastHeard(nid.ProcessID{NID: peerA, PID: nid.LustrePID}); ok {
		t.Error("the gateway itself was heard")
	}
	if got := r.ni.Incarnation(d); got != 0 {
		t.Errorf("the layer above is told the incarnation %d, want 0: unknown", got)
	}
	r.up.Delivered(r.ni, d, nil)
	if len(told) != 1 || !told[0].Up {
		t.Fatalf("told %+v, want that it is up", told)
	}
	r.driver.up.PeerUp(nid.ProcessID{NID: peerA, PID: nid.LustrePID})
	r.driver.up.PeerDown(nid.ProcessID{NID: peerA, PID: nid.LustrePID}, syscall.ECONNRESET)
	if len(told) != 1 {
		t.Errorf("told %+v: the end of a connection to a gateway is not that of a node behind it", told)
	}
	r.node.GatewayChecked(peerA, syscall.ETIMEDOUT)
	if len(told) != 2 || told[1].Up || !errors.Is(told[1].Cause, syscall.EHOSTUNREACH) {
		t.Fatalf("told %+v, want that no route is left", told)
	}
	r.node.GatewayChecked(peerA, nil)
	if len(told) != 3 || !told[2].Up {
		t.Errorf("told %+v, want that it is up again", told)
	}
}

// TestAddManyRoutes: as many routes as a table may have, all by one gateway, are added as one change,
// and removed as one. The work of each change must not grow faster than the number of routes: a change
// that looks at all routes for each route would not end in the time of a test.
func TestAddManyRoutes(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	changes := 0
	r.node.OnRouteChange(func() { changes++ })
	var list []route.Route
	for i := range route.MaxRoutes {
		list = append(list, route.New(nid.MustParseNet(fmt.Sprintf("tcp%d", 1+i)), peerA))
	}
	if err := r.node.AddRoutes(list); err != nil {
		t.Fatal(err)
	}
	if got := len(r.node.Routes()); got != len(list) || changes != 1 {
		t.Errorf("%d routes by %d changes, want %d by 1", got, changes, len(list))
	}
	if err := r.node.AddRoutes(list[:1]); !errors.Is(err, syscall.EEXIST) || changes != 1 {
		t.Errorf("added again: %v, %d changes", err, changes)
	}
	gone := r.node.DeleteRoutes(func(o route.Route) bool { return o.Net != list[3].Net })
	if left := r.node.Routes(); len(gone) != len(list)-1 || len(left) != 1 || left[0].Route != list[3] || changes != 2 {
		t.Errorf("%d were removed by %d changes, left are %v", len(gone), changes, left)
	}
}
