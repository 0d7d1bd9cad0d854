package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// flap makes the server lose its quorum for a tick, and gives the other servers time to answer its questions.
func (h *harness) flap() {
	h.t.Helper()
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Tick)
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.advance(2 * maxAsks * h.s.cfg.Tick)
}

// TestRevokedLeavesOrphan: CH-20, CH-33: another server has reported the tombstone of an orphan. Then an eviction of
// the same incarnation arrives late, and perhaps its withdrawal, and this server loses its quorum. It drops that
// eviction, which is recent. It keeps the tombstone of the orphan if that is final, because it will not ask for old
// tombstones when it has the quorum again, and drops it if that is recent, too.
func TestRevokedLeavesOrphan(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	for _, tt := range []struct {
		age                time.Duration
		evicted, withdrawn bool
		want               string
	}{
		{3 * time.Minute, false, false, "reject:global"},
		{3 * time.Minute, true, false, "reject:global"},
		{3 * time.Minute, true, true, "reject:global"},
		{10 * time.Second, false, false, "save connected accept"},
		{10 * time.Second, true, false, "save connected accept"},
		{10 * time.Second, true, true, "save connected accept"},
	} {
		h := newHarness(t, nil)
		h.mute = true
		h.told(tombstoneOf(0, tt.age))
		if tt.evicted {
			h.batchFrom(otherA, false)
		}
		if tt.withdrawn {
			h.batchFrom(otherA, true)
		}
		h.mute = false
		h.flap()
		if got := word5(h, wire.Connect, 2); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	h := evictedByA(t, 3*time.Minute) // the eviction is final, and the tombstone of the orphan recent
	h.mute = true
	h.told(tombstoneOf(0, 10*time.Second))
	h.mute = false
	h.flap()
	h.batchFrom(otherA, true)
	if got := word5(h, wire.Connect, 2); got != "save connected accept" {
		t.Errorf("after the withdrawal: %q", got)
	}
	h = newHarness(t, nil)
	h.mute = true
	h.told(tombstoneOf(0, 3*time.Minute))
	h.batchFrom(otherA, false)
	h.step(ServerInput{Kind: QuorumIs})
	h.want("unbury bury quorum-lost")
	if got := word5(h.restarted(), wire.Connect, 2); got != "reject:global" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestRevokedKeepsWithdrawals: CH-33, CH-A8: one server withdraws its eviction, another server makes its own, and this
// server loses its quorum, so it drops the second eviction. A late copy of the first eviction still leaves no
// tombstone.
func TestRevokedKeepsWithdrawals(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	h := newHarness(t, nil)
	h.order(otherA, false, 1)
	h.order(otherA, true, 1)
	h.order(otherB, false, 2)
	h.flap()
	h.order(otherA, false, 1)
	if _, ok := h.s.Buried(testClient); ok {
		t.Error("a late copy leaves a tombstone")
	}
	h.order(otherB, false, 2)
	if _, ok := h.s.Buried(testClient); !ok {
		t.Error("an eviction that was not withdrawn leaves no tombstone")
	}
}

// TestEarlierIsRefused: CH-65, CH-A20: a server refuses an incarnation that was evicted, and gets the eviction of the
// next one, or only its withdrawal. When the second eviction is withdrawn, or dropped because the server loses its
// quorum, the server goes on refusing the first incarnation, reports its tombstone to others, and has it in its store.
// This ends when the eviction of the first incarnation is withdrawn, or dropped for the same reason.
func TestEarlierIsRefused(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A20")
	for name, tt := range map[string]struct {
		age  time.Duration // of the first eviction when the second arrives
		then func(h *harness)
		want uint64 // 0: none
	}{
		"only withdrawn":                  {2 * time.Minute, func(h *harness) { h.order(otherA, true, 1) }, 4},
		"made and withdrawn":              {2 * time.Minute, func(h *harness) { h.order(otherA, false, 1); h.order(otherA, true, 1) }, 4},
		"quorum lost":                     {2 * time.Minute, func(h *harness) { h.order(otherA, false, 1); h.step(ServerInput{Kind: QuorumIs}) }, 4},
		"quorum lost soon":                {time.Second, func(h *harness) { h.order(otherA, false, 1); h.step(ServerInput{Kind: QuorumIs}) }, 0},
		"withdrawn, quorum lost soon":     {time.Second, func(h *harness) { h.order(otherA, true, 1); h.step(ServerInput{Kind: QuorumIs}) }, 0},
		"both withdrawn, the first last":  {time.Second, func(h *harness) { h.order(otherA, true, 1); h.order4(true) }, 0},
		"both withdrawn, the second last": {time.Second, func(h *harness) { h.order(otherA, false, 1); h.order4(true); h.order(otherA, true, 1) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil)
			h.mute = true
			h.order4(false)
			h.advance(tt.age)
			tt.then(h)
			if got, ok := h.s.Buried(testClient); got != tt.want || ok != (tt.want > 0) {
				t.Errorf("it refuses incarnation %d (%v)", got, ok)
			}
			if name == "made and withdrawn" || name == "quorum lost" {
				if got, _ := h.restarted().s.Buried(testClient); got != tt.want {
					t.Errorf("after a restart it refuses incarnation %d", got)
				}
			}
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
			h.message(nid.ProcessID{NID: otherA, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: 9, Retry: time.Hour})
			if list := h.last(wire.TombstonesReply).Entries; list.Len() > 0 != (tt.want > 0) || list.Len() > 0 && list.At(0).Incarnation != tt.want {
				t.Errorf("it reports %d tombstones", list.Len())
			}
		})
	}
}
