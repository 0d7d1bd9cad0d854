package discovery_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestForeignPuts: a stranger sends PUTs to portal 0 that are no pushes. They are dropped. If they were held, as pushes
// are, the connection on which they came would stop. Nothing would ever take them, so they would use up for ever what
// pushShare allows the neighbour that sent them, which is the stranger or its gateway.
func TestForeignPuts(t *testing.T) {
	spec.Covers(t, "PD-29", "PT-42")
	w := newCable(t)
	a, x := w.node(discovery.Config{}, nidA), w.stranger(nidX)
	up := w.ports[nid.MustParse(nidA)].up
	const foreign = 4
	for i := range foreign {
		d := &lnd.Delivery{From: nid.ProcessID{NID: nid.MustParse(nidX), PID: nid.LustrePID}}
		h := &d.Header
		h.SrcNID, h.SrcPID, h.DestNID, h.DestPID = d.From.NID, d.From.PID, nid.MustParse(nidA), nid.LustrePID
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: wire.PingMatchBits + 1 + uint64(i), Portal: wire.PingPortal})
		h.PayloadLength = 16
		if answer, err := up.Parse(d); answer == lnd.Hold || err != nil {
			t.Fatalf("PUT %d: %v, %v", i, answer, err)
		}
	}
	x.claim(nidA, 2, nidX)
	w.settle()
	if s := a.agent.Stats(); s.PushesReceived != 1 {
		t.Errorf("counters %+v", s)
	}
	if drops := a.table.Node().Stats().DropReasons; drops["no match"] != foreign {
		t.Errorf("dropped: %v", drops)
	}
}
