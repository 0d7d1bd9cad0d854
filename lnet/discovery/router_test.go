package discovery_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// TestRouterIsTold: a node that becomes a router reports that, once it is no longer starting.
// If no message has come from a net for a long time and no node on it answers, the node reports
// its NI on that net as down, until the next message from there. It tells its peers of each
// change.
func TestRouterIsTold(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-15", "RO-16", "RO-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	b := w.node(discovery.Config{}, nidB)
	b.put(nidA, 10)
	w.settle()
	info := func() (f wire.Features, up bool) {
		t.Helper()
		w.settle()
		i := a.agent.Info()
		if known := b.statusAt(nidA); known != i.NIs[0].Status && w.ports[nid.MustParse(nidB)] != nil {
			t.Errorf("B knows %v, A tells %v", known, i.NIs[0].Status)
		}
		return i.Features, i.NIs[0].Status == wire.StatusUp
	}
	want := func(when string, routes, up bool) {
		t.Helper()
		f, isUp := info()
		if f.Has(wire.FeatureRoutingDisabled) == routes || isUp != up {
			t.Errorf("%s: features %#x, up %v; want routing %v, up %v", when, uint32(f), isUp, routes, up)
		}
	}
	want("an ordinary node", false, true)
	node := a.table.Node()
	clock.advance(w, time.Second)
	if err := node.StartRouting(); err != nil {
		t.Fatal(err)
	}
	if node.RoutingMode() != router.Starting {
		t.Errorf("mode %v", node.RoutingMode())
	}
	want("starting", false, true)
	far := w.ports[nid.MustParse(nidB)]
	delete(w.ports, far.id)
	clock.advance(w, lnet.DefaultRouterSilence+time.Second)
	want("started, and the net silent", true, false)
	w.ports[far.id] = far
	b.put(nidA, 10)
	want("heard again", true, true)
	clock.advance(w, 3*lnet.DefaultRouterSilence)
	want("nothing to do, but B answers", true, true)
	delete(w.ports, far.id)
	clock.advance(w, 2*lnet.DefaultRouterSilence)
	want("silent", true, false)
	w.ports[far.id] = far
	node.StopRouting()
	want("off", false, true)
	if err := node.StartAsRouter(); err != nil {
		t.Fatal(err)
	}
	want("on from the start", true, true)
}

// TestGatewayChecksChange: how often gateways are checked can be changed while the node runs.
func TestGatewayChecksChange(t *testing.T) {
	t.Parallel()
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	w.node(discovery.Config{}, nidB)
	if err := a.table.Node().AddRoute(route.New(nid.MustParseNet("tcp7"), nid.MustParse(nidB))); err != nil {
		t.Fatal(err)
	}
	w.settle()
	checks := func(seconds int) uint64 {
		before := a.agent.Stats().Pings
		for range seconds {
			clock.advance(w, time.Second)
		}
		return a.agent.Stats().Pings - before
	}
	if got := checks(150); got != 2 {
		t.Errorf("%d checks in 150 s, want 2", got)
	}
	a.agent.SetGatewayChecks(10*time.Second, 5*time.Second)
	if interval, timeout := a.agent.GatewayChecks(); interval != 10*time.Second || timeout != 5*time.Second {
		t.Errorf("checks every %v, for %v", interval, timeout)
	}
	if got := checks(60); got < 5 || got > 6 {
		t.Errorf("%d checks in 60 s, want 5 or 6", got)
	}
	a.agent.SetGatewayChecks(-1, 5*time.Second)
	if got := checks(300); got > 1 { // one check may still have begun before the interval changed
		t.Errorf("%d checks, want none", got)
	}
}

// TestRouterSilenceChange: how long a router's net may be silent can be changed while it runs.
func TestRouterSilenceChange(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	node := a.table.Node()
	if err := node.StartAsRouter(); err != nil {
		t.Fatal(err)
	}
	down := func() bool { return a.agent.Info().NIs[0].Status == wire.StatusDown }
	clock.advance(w, 30*time.Second)
	if down() {
		t.Fatal("down at once")
	}
	node.SetRouterSilence(20 * time.Second)
	if down() {
		t.Error("down before any node there was asked")
	}
	clock.advance(w, 11*time.Second)
	if !down() {
		t.Error("not down though the net has been silent for longer than it may")
	}
	node.SetRouterSilence(-1)
	if down() {
		t.Error("down though a silent net never is")
	}
	clock.advance(w, time.Hour)
	if down() {
		t.Error("down after an hour though a silent net never is")
	}
}
