package discovery_test

import (
	"fmt"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestPushWaits (PT-11): portal 0 is lazy: a push that arrives while earlier pushes have all
// the buffers waits, and is not dropped.
func TestPushWaits(t *testing.T) {
	spec.Covers(t, "PT-11")
	const buffers = 10
	c := newCable(t)
	n := c.node(discovery.Config{}, "10.0.0.1@tcp")
	p := c.ports[nid.MustParse("10.0.0.1@tcp")]
	p.held = make(map[*lnd.Delivery]packet)
	var pushes [buffers + 1]lnd.Delivery
	for i := range pushes {
		want := lnd.Accept
		if i == buffers {
			want = lnd.Hold
		}
		d := &pushes[i]
		from := nid.ProcessID{NID: nid.MustParse(fmt.Sprintf("10.0.1.%d@tcp", i)), PID: nid.LustrePID} // each node has a share of the buffers
		d.From = from
		d.Header.SrcNID, d.Header.SrcPID, d.Header.DestNID, d.Header.DestPID = from.NID, from.PID, p.id, nid.LustrePID
		d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: wire.PingPortal, MatchBits: wire.PingMatchBits})
		d.Header.PayloadLength = 16
		p.held[d] = packet{header: d.Header, payload: make([]byte, 16)}
		if answer, err := p.up.Parse(d); answer != want || err != nil {
			t.Fatalf("push %d: verdict %v, %v, want %v", i, answer, err, want)
		}
	}
	p.Recv(&pushes[0])
	if p.held[&pushes[buffers]].payload != nil {
		t.Error("the last push is not taken when another has been")
	}
	if drops := n.table.Node().Stats().DropReasons; len(drops) > 0 {
		t.Errorf("dropped: %v", drops)
	}
}
