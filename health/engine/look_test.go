package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestLookBeforeTick: CH-8, CH-26: the end of T_evict and a tick can be due in one step, for
// instance for a client whose last message came half a second after a tick. Even then the server
// waits for the answer of the transport, and evicts in time.
func TestLookBeforeTick(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-26")
	h := newHarness(t, nil)
	tick, evict := h.s.cfg.Tick, h.s.cfg.Evict
	h.connect(5, me, 1)
	h.advance(h.s.tick - h.now + tick - evict%tick)
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong")
	h.advance(evict)
	if h.s.tick != h.now+tick {
		t.Fatalf("the tick is due in %v", h.s.tick-h.now)
	}
	h.want("look")
	h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now})
	h.advance(time.Second)
	h.want("ask") // the client's node is alive, so the server asks the client itself
	h.message(host, wire.Message{Kind: wire.Here, Incarnation: 5, Epoch: 1})
	h.want("")
	last := h.now
	h.advance(last + evict + tick - h.now)
	h.want("look suspended broadcast1")
}
