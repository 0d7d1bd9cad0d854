package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// reports returns the codes of the latest digests with load reports, by the server they went to.
func (h *harness) reports() map[nid.NID]wire.Code {
	h.t.Helper()
	codes := make(map[nid.NID]wire.Code)
	for i := range h.effects {
		if e := &h.effects[i]; e.Kind == DoSend && e.Server.IsValid() {
			if m, _ := wire.ParseMessage(e.Token.([]byte)); m.Kind == wire.Digest {
				codes[e.Server] = m.Code
			}
		}
	}
	return codes
}

// TestUnsavedIsKnown: a server that could not save the record of a client tells all other servers
// within a tick that it takes no clients. It also tells a server that comes alive later. It tells them
// that it takes clients again within a tick after a record was saved, or when it has not tried to
// save a record for T_orphan.
func TestUnsavedIsKnown(t *testing.T) {
	spec.Covers(t, "CH-74")
	h := newHarness(t, nil)
	h.hold = true
	incarnation := uint64(0)
	save := func(failed bool) {
		t.Helper()
		incarnation++
		h.connect(incarnation, me, 1)
		k := slices.IndexFunc(h.effects, func(e ServerEffect) bool { return e.Kind == DoSave && e.ID != 0 })
		if k < 0 {
			t.Fatalf("no save in %q", h.words())
		}
		h.step(ServerInput{Kind: Saved, ID: h.effects[k].ID, Failed: failed})
	}
	told := func(within time.Duration, want wire.Code, to ...nid.NID) {
		t.Helper()
		h.advance(within)
		got := h.reports()
		for _, id := range to {
			if code, ok := got[id]; !ok || code != want {
				t.Errorf("after %v %v was told %v (%v), want %v", within, id, code, ok, want)
			}
		}
		if len(got) != len(to) {
			t.Errorf("told %v, want %v to %v", got, want, to)
		}
	}
	tick := h.s.cfg.Tick
	save(true)
	told(tick, wire.StoreFailed, otherA, otherB)
	save(true)
	told(tick, wire.StoreFailed) // no reports: the other servers know it already
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
	told(tick, wire.StoreFailed, gone)
	save(false)
	told(tick, wire.OK, otherA, otherB, gone)

	h.step(ServerInput{Kind: Saved, Failed: true}) // without an ID the input is about a tombstone, or a change of a record, that could not be written
	told(tick, wire.StoreFailed, otherA, otherB, gone)
	for range h.s.cfg.Orphan/tick - 2 {
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: incarnation, Epoch: 1})
		told(tick, wire.StoreFailed)
	}
	told(2*tick, wire.OK, otherA, otherB, gone)
}
