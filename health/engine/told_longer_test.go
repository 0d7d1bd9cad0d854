package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestToldLonger: CH-65, CH-20, CH-33: a server has evicted an incarnation, and is not heard for some minutes. In that time the
// others evict the same incarnation once more, because the first eviction was withdrawn, or because the server that is not heard
// was the only one that had evicted the client. When the server is heard again, it is told of the later tombstone. It then
// refuses the incarnation for as long as the others do, and no longer, whether the late withdrawal of the first eviction arrives
// before, afterwards or never, and also after a restart.
func TestToldLonger(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-20", "CH-33")
	byMaster := func(t *testing.T) *harness { return evictedByA(t, 9*time.Minute) }
	byItself := func(t *testing.T) *harness {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		h.done(wire.Reply{Evicted: 2}, gone)
		h.advance(9 * time.Minute)
		return h
	}
	withdraw := func(h *harness) { h.batchFrom(otherA, true) }
	nothing := func(*harness) {}
	for name, tt := range map[string]struct {
		evicted       func(*testing.T) *harness
		epoch         uint32 // choice of a master of the later eviction
		before, after func(*harness)
	}{
		"by a later master":                      {byMaster, 2, nothing, nothing},
		"by a later master, withdrawn before":    {byMaster, 2, withdraw, nothing},
		"by a later master, withdrawn after":     {byMaster, 2, nothing, withdraw},
		"as an orphan":                           {byMaster, 0, nothing, nothing},
		"as an orphan, withdrawn before":         {byMaster, 0, withdraw, nothing},
		"as an orphan, withdrawn after":          {byMaster, 0, nothing, withdraw},
		"by a later master, but first here":      {byItself, 2, nothing, nothing},
		"as an orphan, but first by this server": {byItself, 0, nothing, nothing},
	} {
		h := tt.evicted(t)
		h.mute = true
		tt.before(h)
		h.told(tombstoneOf(tt.epoch, 10*time.Second))
		again := h.restarted()
		tt.after(h)
		h.told(tombstoneOf(tt.epoch, 20*time.Second))
		h.want("") // this copy lasts no longer
		for when, h := range map[string]*harness{"": h, ", after a restart": again} {
			h.mute = true
			h.advance(2 * time.Minute)
			if got := word5(h, wire.Connect, 3); got != "reject:global" {
				t.Errorf("evicted again %s%s: the client connects: %q", name, when, got)
			}
			if h.advance(8 * time.Minute); h.s.Status().Tombstones != 0 {
				t.Errorf("evicted again %s%s: the tombstone outlasts that of the others", name, when)
			}
		}
	}
}

// TestToldOfExpired: CH-65: a server is told of a tombstone just when its own of the same incarnation has expired, before the
// tick at which it would remove that. It removes no tombstone of an earlier incarnation from its store.
func TestToldOfExpired(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := newHarness(t, nil)
	h.mute = true
	h.advance(3 * h.s.cfg.Tick / 10)
	h.order(otherA, false, 1)
	h.advance(5 * time.Minute)
	h.order4(false)
	h.advance(5*time.Minute - maxAsks*h.s.cfg.Tick + h.s.cfg.Tick/5)
	h.told(tombstoneOf(2, 10*time.Minute))
	for _, e := range h.effects {
		if e.Kind == DoRemove {
			t.Errorf("in the store: %+v", e)
		}
	}
	if g, ok := h.s.tombstones.of(testClient, 5); !ok || g.until > h.s.now {
		t.Errorf("it has not just expired: %v", ok)
	}
	h.advance(h.s.cfg.Tick)
	if n, _ := h.s.Buried(testClient); n != 4 {
		t.Errorf("after the tick it refuses incarnation %d", n)
	}
}
