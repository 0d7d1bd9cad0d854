package discovery_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// TestUnackedPushBlamesNothing: nodes behind a gateway are dead when this node pushes its changed info to them. No
// ACK comes, but the gateway is well, and keeps its full health.
func TestUnackedPushBlamesNothing(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "PD-27")
	const near, far = "10.0.0.254@tcp", "10.1.0.254@tcp1"
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	lead := func(n *node, net, gateway string) {
		t.Helper()
		if err := n.table.Node().AddRoute(route.New(nid.MustParseNet(net), nid.MustParse(gateway))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.node(discovery.Config{}, near, far).table.Node().StartAsRouter(); err != nil {
		t.Fatal(err)
	}
	a := w.node(discovery.Config{}, nidA)
	lead(a, "tcp1", near)
	var dead []string
	for i := range 10 {
		id := fmt.Sprintf("10.1.0.%d@tcp1", 1+i)
		n := w.node(discovery.Config{}, id)
		lead(n, "tcp", far)
		a.put(id, 1)
		w.settle()
		if len(n.got) != 1 {
			t.Fatalf("%v got %v", id, n.got)
		}
		dead = append(dead, id)
	}
	for _, id := range dead {
		delete(w.ports, nid.MustParse(id))
	}
	before, lowest := a.agent.Stats().Pushes, path.MaxHealth
	// Called for each message: a ping of the gateway restores its health, so the lowest health must be noted
	// in between.
	w.spoil = func(wire.Header, []byte) {
		health, _, _ := a.table.Node().Condition(recovery.Target{NID: nid.MustParse(near)})
		lowest = min(lowest, health)
	}
	a.add("10.0.0.101@tcp")
	clock.advance(w, 400*time.Second)
	if n := a.agent.Stats().Pushes - before; n < 20 {
		t.Errorf("%d pushes", n)
	}
	if s := a.table.Node().Stats(); s.ResponseTimeouts != 0 || lowest != path.MaxHealth {
		t.Errorf("LNet gave up %d answers, and the health of the gateway was %d", s.ResponseTimeouts, lowest)
	}
}
