package engine

import (
	"strings"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestGivenUpBesideStranger: CH-33, CH-A1: a master has given up an eviction. Before it knows whether to withdraw that,
// another node connects to it with the client's id, in the same incarnation or the next one, and leaves, or another server
// reports the tombstone of the next incarnation. The master withdraws its eviction all the same.
func TestGivenUpBesideStranger(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A1")
	leaves := func(incarnation uint64) func(h *harness) {
		return func(h *harness) {
			h.message(stranger, wire.Message{Kind: wire.Connect, Incarnation: incarnation, Server: otherA, Epoch: 1})
			h.message(stranger, wire.Message{Kind: wire.Disconnect, Incarnation: incarnation})
		}
	}
	for name, then := range map[string]func(h *harness){
		"leaves in the same incarnation": leaves(5),
		"leaves in the next one":         leaves(6),
		"is evicted in the next one":     func(h *harness) { h.order6(false) },
	} {
		h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB} })
		h.connect(5, me, 2)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		h.step(ServerInput{Kind: QuorumIs})
		h.advance(h.s.cfg.Quorum)
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.advance(h.s.cfg.Broadcast + 1)
		then(h)
		if _, ok := h.s.Buried(testClient); !ok {
			t.Fatalf("%s: %q", name, h.words())
		}
		h.advance((maxAsks + 1) * h.s.cfg.Tick)
		if !strings.Contains(h.words(), "broadcast1") {
			t.Errorf("%s: it withdraws nothing: %q", name, h.words())
		}
	}
}
