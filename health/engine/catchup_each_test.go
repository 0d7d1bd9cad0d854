package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// reported returns the incarnations whose tombstones this server reports to otherA, which asks for them.
func (h *harness) reported() (list []uint64) {
	h.t.Helper()
	h.advance(2 * maxAsks * h.s.cfg.Tick)
	h.askTombstones(otherA, 12345)
	told := h.last(wire.TombstonesReply).Entries
	for k := range told.Len() {
		list = append(list, told.At(k).Incarnation)
	}
	slices.Sort(list)
	return list
}

// TestReportsEachIncarnation: CH-33, CH-65, CH-A1: this server has the tombstones of two incarnations of a client, the later
// of which another node has used. It reports the earlier one whatever has happened to the later one, once, and even if both
// were evicted at the same instant. It reports the later one unless the node has left, or that eviction was withdrawn.
func TestReportsEachIncarnation(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-65", "CH-A1")
	leaves := func(h *harness) {
		h.message(stranger, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1})
		h.message(stranger, wire.Message{Kind: wire.Disconnect, Incarnation: 6})
	}
	for name, tt := range map[string]struct {
		then func(h *harness)
		want []uint64
	}{
		"left":                {leaves, []uint64{5}},
		"evicted":             {func(h *harness) { h.order6(false) }, []uint64{5, 6}},
		"withdrawn":           {func(h *harness) { h.order6(true) }, []uint64{5}},
		"evicted later":       {func(h *harness) { h.advance(time.Second); h.order6(false) }, []uint64{5, 6}},
		"left later":          {func(h *harness) { h.advance(time.Second); leaves(h) }, []uint64{5}},
		"evicted once more":   {func(h *harness) { h.order6(false); h.order(otherA, false, 1); h.order6(false) }, []uint64{5, 6}},
		"the earlier is void": {func(h *harness) { h.order6(false); h.order(otherA, true, 1) }, []uint64{6}},
	} {
		h := three(t)
		h.order(otherA, false, 1)
		tt.then(h)
		if got := h.reported(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: it reports %d, want %d", name, got, tt.want)
		}
	}
}

// TestPassesOnEachIncarnation: CH-33: another server reports the tombstones of two incarnations of a client. This server
// passes them on to a server that has asked before, and that has only one of them.
func TestPassesOnEachIncarnation(t *testing.T) {
	spec.Covers(t, "CH-33")
	h := three(t)
	h.askTombstones(otherA, 31)
	askA := h.last(wire.Tombstones).Sequence
	h.askTombstones(otherB, 41)
	five, six := tombstoneOf(0, 0), tombstoneOf(0, 0)
	six.Incarnation = 6
	h.message(nid.ProcessID{NID: otherB, PID: nid.LustrePID}, wire.Message{
		Kind: wire.TombstonesReply, Sequence: h.last(wire.Tombstones).Sequence, Epoch: 2, Entries: entries(five, six), // the first of two pages
	})
	h.tellTombstones(otherA, askA, six)
	h.want("tombstones-reply")
	if m := h.last(wire.TombstonesReply); m.Sequence != 31 || m.Entries.Len() != 2 {
		t.Errorf("%+v", m)
	}
}
