package discovery_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// TestTurnedOffDuringPing: discovery is turned off while a message waits for the discovery of a node beyond a
// gateway, and the node's REPLY comes while this node tells its peers that discovery is off. The message leaves, and
// SetDiscovery returns.
func TestTurnedOffDuringPing(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "LN-11")
	const gw, gwFar, nidX = "10.0.0.7@tcp", "10.1.0.7@tcp1", "10.1.0.9@tcp1"
	w := newCable(t)
	a, x := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidX)
	w.node(discovery.Config{}, nidB)
	g := w.node(discovery.Config{}, gw, gwFar)
	if err := g.table.Node().StartAsRouter(); err != nil {
		t.Fatal(err)
	}
	for n, r := range map[*node]route.Route{
		a: route.New(nid.MustParseNet("tcp1"), nid.MustParse(gw)), x: route.New(nid.MustParseNet("tcp"), nid.MustParse(gwFar)),
	} {
		if err := n.table.Node().AddRoute(r); err != nil {
			t.Fatal(err)
		}
		w.settle()
	}
	a.put(nidB, 10)
	w.settle()
	a.put(nidX, 11)
	w.refuse = func(m *lnd.Message) error {
		if describe(&m.Header) == nidA+" PUT 0 48" { // the push that says that discovery is off
			w.refuse = nil
			w.settle()
		}
		return nil
	}
	a.agent.SetDiscovery(false)
	w.settle()
	if len(x.got) != 1 || x.got[0] != nidA+" 11" {
		t.Errorf("X got %v", x.got)
	}
	if w.refuse != nil {
		t.Error("no peer was told")
	}
}
