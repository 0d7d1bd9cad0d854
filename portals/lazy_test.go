package portals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

func (n *network) holding() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func newLazy(t *testing.T) (*harness, *network) {
	t.Helper()
	table, net := newWire(t)
	if err := table.SetLazy(5); err != nil {
		t.Fatal(err)
	}
	return &harness{Table: table, t: t, self: here}, net
}

func (h *harness) arrivePut(net *network, bits uint64, length uint32) {
	h.t.Helper()
	err := net.arrive(putHeader(length, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: bits}), nil)
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestLazy (PT-8, PT-9): PUTs wait in order for an MD that takes them. When an MD is attached,
// those that match but are too long are dropped, and those that do not match keep waiting.
func TestLazy(t *testing.T) {
	spec.Covers(t, "PT-8", "PT-9")
	h, net := newLazy(t)
	for _, m := range []struct {
		bits   uint64
		length uint32
	}{{1, 4}, {2, 4}, {1, 5}, {1, 99}, {1, 6}, {1, 7}} {
		h.arrivePut(net, m.bits, m.length)
	}
	if n := net.holding(); n != 6 {
		t.Fatalf("%d held, want 6", n)
	}
	var got []uint32
	see := func(e *portals.Event) { got = append(got, e.RLength) }
	md := portals.MD{Segments: []lnd.Segment{make([]byte, 20)}, Threshold: 3, Options: portals.OpPut, Handler: see}
	h.post(5, portals.Match{Bits: 1}, md)
	if diff := cmp.Diff([]uint32{4, 5, 6}, got); diff != "" {
		t.Errorf("taken before MDAttach returned (-want +got):\n%s", diff)
	}
	if n := net.holding(); n != 2 {
		t.Errorf("%d held, want the one with other bits and the one that the threshold excludes", n)
	}
	if diff := cmp.Diff(map[string]uint64{"too long": 1}, h.drops()); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
	md.Threshold = inf
	h.post(5, portals.Match{Bits: 1}, md)
	h.post(5, portals.Match{Bits: 2}, md)
	h.arrivePut(net, 1, 8) // the message finds its MD at once
	if diff := cmp.Diff([]uint32{4, 5, 6, 7, 4, 8}, got); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}

// TestLazyOrder (PT-9): messages that an MD does not take keep their place in the queue.
func TestLazyOrder(t *testing.T) {
	spec.Covers(t, "PT-9")
	h, net := newLazy(t)
	for length, bits := range []uint64{2, 1, 2, 1, 2} {
		h.arrivePut(net, bits, uint32(length))
	}
	var got []uint32
	see := func(e *portals.Event) { got = append(got, e.RLength) }
	md := portals.MD{Segments: []lnd.Segment{make([]byte, 20)}, Threshold: 1, Options: portals.OpPut, Handler: see}
	for _, bits := range []uint64{1, 2, 2, 1, 2} {
		h.post(5, portals.Match{Bits: bits}, md)
	}
	if diff := cmp.Diff([]uint32{1, 0, 2, 3, 4}, got); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

// TestLazyGet (PT-8) checks that a GET never waits.
func TestLazyGet(t *testing.T) {
	spec.Covers(t, "PT-8")
	h, net := newLazy(t)
	if err := net.arrive(getHeader(wire.GetCmd{Portal: 5}), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"no match": 1}, h.drops()); diff != "" || net.holding() != 0 {
		t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
	}
}

// TestClearLazy (PT-10): a portal that stops being lazy drops the PUTs that it holds, and
// those that come later without a match.
func TestClearLazy(t *testing.T) {
	spec.Covers(t, "PT-10")
	h, net := newLazy(t)
	h.arrivePut(net, 1, 4)
	h.arrivePut(net, 2, 4)
	if err := h.ClearLazy(5); err != nil {
		t.Fatal(err)
	}
	h.arrivePut(net, 3, 4)
	if diff := cmp.Diff(map[string]uint64{"lazy portal cleared": 2, "no match": 1}, h.drops()); diff != "" || net.holding() != 0 {
		t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
	}
	if s := h.Node().Stats(); s.RecvCount != 0 || s.DropLength != 12 {
		t.Errorf("counters %+v", s)
	}
}

// TestAbandon: the connection of a held PUT ends. The PUT is dropped, the others keep
// waiting, and one that an MD has already taken is not given up.
func TestAbandon(t *testing.T) {
	h, net := newLazy(t)
	var deliveries []*lnd.Delivery
	for bits := range uint64(3) {
		d := &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: bits}), From: there}
		deliveries = append(deliveries, d)
		if v, err := net.up.Parse(d); v != lnd.Hold || err != nil {
			t.Fatalf("verdict %v, %v", v, err)
		}
	}
	if !net.up.Abandon(deliveries[1]) || net.up.Abandon(deliveries[1]) {
		t.Error("a held delivery can be given up once")
	}
	var taken int
	md := portals.MD{
		Segments: []lnd.Segment{make([]byte, 20)}, Threshold: inf, Options: portals.OpPut,
		Handler: func(*portals.Event) { taken++ },
	}
	for bits := range uint64(3) {
		h.post(5, portals.Match{Bits: bits}, md)
	}
	if taken != 2 || net.up.Abandon(deliveries[0]) {
		t.Errorf("%d of the other two taken, or one given up after that", taken)
	}
	if diff := cmp.Diff(map[string]uint64{"peer gone": 1}, h.drops()); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
}

// TestLazyShutdown (PT-12): messages that are held when their NI is removed are dropped, and
// none is held after that.
func TestLazyShutdown(t *testing.T) {
	spec.Covers(t, "PT-12")
	h, net := newLazy(t)
	h.arrivePut(net, 1, 4)
	h.Node().OnNIChange(func() { h.arrivePut(net, 2, 4) }) // a message arrives while the NI is stopping
	if err := h.Node().RemoveNI(t.Context(), h.Node().NIs()[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"NI shutdown": 2}, h.drops()); diff != "" || net.holding() != 0 {
		t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
	}
}
