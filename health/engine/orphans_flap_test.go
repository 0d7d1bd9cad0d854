package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestFlappingQuorum: CH-20, CH-66: the quorum of a server comes and goes every 16 s. The server nevertheless evicts
// an orphan once it has had the quorum for T_orphan in all, and a client of its own that it has recovered, and that is
// dead, after T_evict.
func TestFlappingQuorum(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-66")
	restored := func(master nid.NID) func(h *harness) {
		return func(h *harness) {
			h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: master, Epoch: 1, Peer: host}})
		}
	}
	for name, begin := range map[string]func(h *harness){
		"orphaned":            func(h *harness) { h.connect(5, otherA, 1); orphanA(h) },
		"recovering":          restored(gone),
		"recovering, its own": restored(me),
	} {
		h := newHarness(t, func(c *ServerConfig) { c.Quorum = time.Hour })
		begin(h)
		for range 8 {
			h.step(ServerInput{Kind: QuorumIs})
			h.advance(6 * time.Second)
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
			h.advance(10 * time.Second)
		}
		if c := h.state(); c == "orphaned 5 10.0.0.2@tcp/1" || h.s.table.unsure > 0 {
			t.Errorf("%s: the client is still %q", name, c)
		}
	}
}

// TestOrphansToldSpread: CH-A19: a server that wins the quorum does not send all notices at once.
func TestOrphansToldSpread(t *testing.T) {
	spec.Covers(t, "CH-A19")
	h := newHarness(t, func(c *ServerConfig) { c.Quorum = time.Hour })
	h.step(ServerInput{Kind: QuorumIs})
	const clients = 256
	for k := range clients {
		h.one(ServerInput{Kind: Restore, Record: &Record{Client: wire.ClientID{byte(k), 1}, Incarnation: 5, Master: gone, Epoch: 1, Peer: host}})
	}
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	most, all := uint64(0), h.s.stats.Notices[wire.Orphaned]
	for range 32 {
		before := h.s.stats.Notices[wire.Orphaned]
		h.advance(h.s.cfg.Tick / 10)
		most = max(most, h.s.stats.Notices[wire.Orphaned]-before)
	}
	if all = h.s.stats.Notices[wire.Orphaned] - all; all != clients || most > clients/8 {
		t.Errorf("%d notices in three ticks, %d of them in a tenth of a tick", all, most)
	}
}
