package discovery_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// TestRouterIsTold: a node that becomes a router reports that once it is no longer starting.
// When nothing was heard on a net for long, and no node there answers, it reports its NI
// there as down; the next message from there ends that. Peers are told of each change.
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
	if _, err := node.SetRouting(true, false); err != nil {
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
	if _, err := node.SetRouting(false, false); err != nil {
		t.Fatal(err)
	}
	want("off", false, true)
	if _, err := node.SetRouting(true, true); err != nil {
		t.Fatal(err)
	}
	want("on from the start", true, true)
}
