package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// told delivers tombstones of otherB as the answer to a question of this server. This server asks because otherB
// has asked it: after a cut both sides ask.
func (h *harness) told(list ...wire.Entry) {
	h.t.Helper()
	h.advance(maxAsks * h.s.cfg.Tick)
	h.askTombstones(otherB, uint64(h.now))
	h.tellTombstones(otherB, h.last(wire.Tombstones).Sequence, list...)
}

// TestLateWithdrawal: CH-20, CH-33, CH-A9: a server has made an eviction, and the others did not hear it for some
// minutes. In that time the eviction was withdrawn, and the client was evicted again, for a later choice of a
// master or as an orphan. When the server is heard again, the other servers report the later tombstone to it, and
// the master sends the late withdrawal. In whichever order these arrive, the server refuses the client, even after
// a restart. If the others report no other eviction, it accepts the client.
func TestLateWithdrawal(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33", "CH-A9")
	for name, tt := range map[string]struct {
		told []wire.Entry
		want string
	}{
		"by a later master":              {[]wire.Entry{tombstoneOf(2, time.Minute)}, "reject:global"},
		"as an orphan":                   {[]wire.Entry{tombstoneOf(0, time.Minute)}, "reject:global"},
		"as an orphan, told with a copy": {[]wire.Entry{tombstoneOf(0, time.Minute), tombstoneOf(1, 3*time.Minute)}, "reject:global"},
		"a copy, told with the orphan":   {[]wire.Entry{tombstoneOf(1, 3*time.Minute), tombstoneOf(0, time.Minute)}, "reject:global"},
		"not again":                      {[]wire.Entry{tombstoneOf(1, 3*time.Minute)}, "save connected accept"},
	} {
		for _, first := range []string{"told first", "withdrawn first"} {
			h := evictedByA(t, 3*time.Minute)
			h.mute = true
			if first == "told first" {
				h.told(tt.told...)
				h.batchFrom(otherA, true)
			} else {
				h.batchFrom(otherA, true)
				h.told(tt.told...)
			}
			h.advance(h.s.cfg.lastWord())
			if got := word5(h, wire.Connect, 2); got != tt.want {
				t.Errorf("evicted %s, %s: the client connects: %q", name, first, got)
			}
		}
	}
	h := evictedByA(t, 3*time.Minute)
	h.mute = true
	h.told(tombstoneOf(0, time.Minute))
	h.batchFrom(otherA, true)
	h.want("unbury bury answer")
	if got := word5(h.restarted(), wire.Connect, 1); got != "reject:global" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestWithdrawalLeavesOrphan: CH-20, CH-A8: a server has the tombstone of an orphan, reported by another server or
// stored before a restart. It then gets an eviction of the same incarnation, or another tombstone of it. When that
// eviction is withdrawn, the tombstone of the orphan stays.
func TestWithdrawalLeavesOrphan(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-A8")
	stored := func(h *harness, epoch uint32) {
		h.step(ServerInput{Kind: RestoreTombstone, Client: testClient, Incarnation: 5, Epoch: epoch, For: 5 * time.Minute})
	}
	for name, evicted := range map[string]func(h *harness){
		"told, then evicted":        func(h *harness) { h.told(tombstoneOf(0, time.Minute)); h.batchFrom(otherA, false) },
		"told, then the other told": func(h *harness) { h.told(tombstoneOf(0, time.Minute)); h.told(tombstoneOf(1, time.Minute)) },
		"stored, then evicted":      func(h *harness) { stored(h, 0); h.batchFrom(otherA, false) },
		"both stored":               func(h *harness) { stored(h, 0); stored(h, 1) },
		"stored the other way":      func(h *harness) { stored(h, 1); stored(h, 0) },
	} {
		h := newHarness(t, nil)
		h.mute = true
		evicted(h)
		h.batchFrom(otherA, true)
		h.batchFrom(otherA, false) // a late copy of the eviction
		h.batchFrom(otherA, true)
		h.advance(h.s.cfg.lastWord())
		if got := word5(h, wire.Connect, 2); got != "reject:global" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWithdrawnAgain: CH-20, CH-A9: a dead server comes back, and a master sends a withdrawal that this server has
// missed to all servers once more. Another server, which got the withdrawal minutes ago, learns only afterwards
// that the client has been evicted as an orphan since.
func TestWithdrawnAgain(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-A9")
	h := newHarness(t, nil)
	h.batchFrom(otherA, false)
	h.batchFrom(otherA, true)
	h.advance(5 * time.Minute)
	h.batchFrom(otherA, true)
	h.mute = true
	h.told(tombstoneOf(0, 30*time.Second))
	h.advance(h.s.cfg.lastWord())
	if got := word5(h, wire.Connect, 2); got != "reject:global" {
		t.Errorf("an orphan that the others have evicted: %q", got)
	}
}

// TestLateWithdrawalInCluster: CH-33, CH-A9: one of five servers makes an eviction and then stands still. The
// eviction is withdrawn, and the client lives on under another master. Then it dies and is evicted, by that master
// or, if the master dies as well, as an orphan. When the stopped server runs again, it refuses that incarnation,
// too.
func TestLateWithdrawalInCluster(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A9")
	for seed := range uint64(40) {
		w := populated(t, 900+seed, 1)
		c := w.clients[0]
		former, stopped := w.server(c.m.Status().Master), w.servers[0]
		if stopped == former {
			stopped = w.servers[1]
		}
		w.cut = func(x, y nid.NID) bool { // the client chooses another master
			return (x == c.id || y == c.id) && (x == former.id || y == former.id || x == stopped.id || y == stopped.id)
		}
		n := len(stopped.events)
		for k := 0; k < 60_000 && (len(stopped.events) == n || stopped.events[len(stopped.events)-1].Kind != ClientEvicted); k++ {
			w.run(time.Millisecond)
		}
		stopped.stop()
		since := w.now
		w.cut = func(x, y nid.NID) bool { return x == stopped.id || y == stopped.id }
		w.run(10 * time.Second)
		if seed%2 == 1 {
			w.server(c.m.Status().Master).stop()
		}
		c.kill()
		w.run(time.Minute)
		w.cut, stopped.inbox = nil, nil
		for _, v := range stopped.views {
			v.heard += w.now - since
		}
		stopped.unsure = w.now + time.Second
		stopped.resume()
		stopped.step(ServerInput{})
		w.run(30 * time.Second)
		incarnation, refused := former.m.Buried(c.name)
		if got, ok := stopped.m.Buried(c.name); len(stopped.events) == n || !refused || !ok || incarnation != got {
			t.Errorf("seed %d: the others refuse incarnation %d (%v), the server that stood still %d (%v)", seed, incarnation, refused, got, ok)
		}
	}
}
