package engine

import (
	"slices"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestEvictionProgress: CH-28, CH-61: the progress of an eviction names the servers that have
// not answered. It names live servers until they answer, and dead ones for as long as the
// eviction is repeated for them.
func TestEvictionProgress(t *testing.T) {
	spec.Covers(t, "CH-28", "CH-61")
	h := newHarness(t, nil)
	want := func(what string, settled bool, missing ...nid.NID) {
		t.Helper()
		st, ok := h.s.Eviction(testClient)
		if !ok || st.Incarnation != 5 || st.Settled != settled || !slices.Equal(st.Missing, missing) || !slices.Equal(st.Owed, []nid.NID{gone}) {
			t.Errorf("%s: %+v, %v", what, st, ok)
		}
	}
	h.connect(5, me, 1)
	if _, ok := h.s.Eviction(testClient); ok {
		t.Error("there is an eviction before any was wanted")
	}
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	if e := h.effects[len(h.effects)-1]; e.Kind != DoBroadcast && e.Incarnation != 5 {
		t.Errorf("%+v", e)
	}
	want("on its way", false, otherA, otherB)
	h.done(wire.Reply{Evicted: 1}, otherB, gone)
	want("one answers", false, otherB)
	h.advance(h.s.cfg.Tick)
	h.done(wire.Reply{}, gone)
	want("all that live", true)
	h.advance(h.s.cfg.Quorum + 2*h.s.cfg.Tick)
	if st, ok := h.s.Eviction(testClient); ok {
		t.Errorf("it is owed for ever: %+v", st)
	}
}

// TestEvictionQueued: while an eviction waits for its broadcast, all servers are listed as not
// having answered.
func TestEvictionQueued(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.s.out = new(ServerOutput)
	h.s.evict(h.s.table.index[testClient], wire.TimedOut)
	st, ok := h.s.Eviction(testClient)
	if !ok || st.Settled || !slices.Equal(st.Missing, []nid.NID{otherA, otherB}) {
		t.Errorf("%+v, %v", st, ok)
	}
}
