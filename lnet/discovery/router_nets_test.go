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

// newStarting returns a node with NIs that has just become a router, on a cable without other nodes.
func newStarting(t *testing.T, ids ...string) (w *cable, clock *handClock, a *node) {
	w, clock = newCable(t), new(handClock)
	w.clock = clock
	a = w.node(discovery.Config{}, ids...)
	if err := a.table.Node().StartRouting(); err != nil {
		t.Fatal(err)
	}
	return w, clock, a
}

// wantMode compares the mode of a router, and the states of its nets that it reports.
func (n *node) wantMode(when string, mode router.Mode, nets ...wire.Status) {
	n.t.Helper()
	if got := n.table.Node().RoutingMode(); got != mode {
		n.t.Errorf("%s: the router is %v, want %v", when, got, mode)
	}
	nis := n.agent.Info().NIs
	if len(nis) != len(nets) {
		n.t.Fatalf("%s: the router reports %v, want %d NIs", when, nis, len(nets))
	}
	for i := range nets {
		if nis[i].Status != nets[i] {
			n.t.Errorf("%s: the router reports %v for %v, want %v", when, nis[i].Status, nis[i].NID, nets[i])
		}
	}
}

// TestRouterGetsNets: a router watches nets that were added after it was turned on. If it has no net, it stays in
// the mode starting until the time for that has passed.
func TestRouterGetsNets(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-15", "RO-16")
	w, clock, a := newStarting(t)
	a.wantMode("without a net", router.Starting)
	clock.advance(w, time.Second)
	a.add(nidA)
	a.wantMode("with a net", router.Starting, wire.StatusUp)
	clock.advance(w, lnet.DefaultRouterSilence)
	a.wantMode("after the wait", router.On, wire.StatusUp)
	clock.advance(w, 2*time.Second)
	a.wantMode("no other node was heard", router.On, wire.StatusDown)
	a.add("10.1.0.1@tcp1")
	clock.advance(w, lnet.DefaultRouterSilence+time.Second)
	a.wantMode("nor on the second net", router.On, wire.StatusDown, wire.StatusDown)
}

// TestSilentNetGetsNI: all NIs of a net together decide whether the net is down, also after one was added or
// removed.
func TestSilentNetGetsNI(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-16")
	const nidA2 = "10.0.0.101@tcp"
	w, clock, a := newStarting(t)
	first := a.add(nidA)
	clock.advance(w, lnet.DefaultRouterSilence+time.Second)
	a.wantMode("nothing was heard", router.On, wire.StatusDown)
	a.add(nidA2)
	a.wantMode("a second NI", router.On, wire.StatusDown, wire.StatusDown)
	b := w.node(discovery.Config{}, nidB)
	b.put(nidA2, 10)
	w.settle()
	a.wantMode("the second NI hears a node", router.On, wire.StatusUp, wire.StatusUp)
	delete(w.ports, nid.MustParse(nidB))
	clock.advance(w, lnet.DefaultRouterSilence+time.Second)
	a.wantMode("silent again", router.On, wire.StatusDown, wire.StatusDown)
	if err := a.table.Node().RemoveNI(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	a.wantMode("the first NI is removed", router.On, wire.StatusDown)
}

// TestRouterStarts: after half of the wait, a starting router looks whether a message has come from each net. If so,
// it is on; if not, it pings nodes of the silent nets, and is on at the end of the wait. It does not look before: a
// kernel node, too, goes on reporting its nets as down just after it has heard them (05-route-routing of the
// transcripts).
func TestRouterStarts(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-15")
	const far, farA = "10.1.0.2@tcp1", "10.1.0.1@tcp1"
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA, farA)
	b, c := w.node(discovery.Config{}, nidB), w.node(discovery.Config{}, far)
	c.put(farA, 10) // so A knows C
	clock.advance(w, time.Second)
	if err := a.table.Node().StartRouting(); err != nil {
		t.Fatal(err)
	}
	b.put(nidA, 10)
	clock.advance(w, 2*time.Second)
	a.wantMode("one net was heard", router.Starting, wire.StatusUp, wire.StatusUp)
	c.put(farA, 10)
	w.settle()
	a.wantMode("both nets were heard", router.Starting, wire.StatusUp, wire.StatusUp)
	clock.advance(w, lnet.DefaultRouterSilence/2+time.Second)
	a.wantMode("after half of the wait", router.On, wire.StatusUp, wire.StatusUp)
	a.table.Node().StopRouting()
	clock.advance(w, time.Second)
	if err := a.table.Node().StartRouting(); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, lnet.DefaultRouterSilence/2-time.Second)
	a.wantMode("nothing was heard", router.Starting, wire.StatusUp, wire.StatusUp)
	clock.advance(w, lnet.DefaultRouterSilence/2+2*time.Second)
	a.wantMode("after the wait", router.On, wire.StatusUp, wire.StatusUp)
}
