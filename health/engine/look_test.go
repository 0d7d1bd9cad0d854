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

// TestLateLook: the answer of the transport arrives after the tick that could evict the client, because
// a large output keeps the shell busy. A client without pings, which its node's other messages keep
// alive, is not evicted meanwhile, nor after the answer (CH-8).
func TestLateLook(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-26")
	h := newHarness(t, nil)
	tick, evict := h.s.cfg.Tick, h.s.cfg.Evict
	h.connect(5, me, 1)
	h.slowLook = true
	h.advance(evict)
	h.want("look")
	asked := h.now
	for range 3 {
		h.advance(tick)
		h.want("")
	}
	h.step(ServerInput{Kind: Seen, Client: testClient, At: asked})
	h.advance(tick)
	h.want("ask")
}

// TestLateLookAtTheDead: a late answer that says that the transport has received nothing lets the
// server evict the client within a tenth of a tick, because the client is overdue (CH-26).
func TestLateLookAtTheDead(t *testing.T) {
	spec.Covers(t, "CH-26")
	h := newHarness(t, nil)
	tick := h.s.cfg.Tick
	h.connect(5, me, 1)
	h.slowLook = true
	h.advance(h.s.cfg.Evict)
	h.want("look")
	h.advance(tick * 5 / 2)
	h.want("")
	h.step(ServerInput{Kind: Seen, Client: testClient, Failed: true})
	h.want("")
	h.advance(tick / lookShare)
	h.want("suspended broadcast1")
}

// TestFewSuspects: while discovery is not sure of the quorum, the server evicts none of its clients.
// It lists each of them once, however long that lasts, and evicts them when the quorum is back.
func TestFewSuspects(t *testing.T) {
	const n = 20
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: QuorumIs, Unsure: true})
	for k := range byte(n) {
		h.step(ServerInput{Kind: Restore, Record: &Record{Client: wire.ClientID{1, k}, Incarnation: 5, Master: me, Epoch: 1, Peer: host, Name: "host"}})
	}
	for range 10 {
		h.advance(10 * h.s.cfg.Evict)
		if count := len(h.s.evictions.suspects); count > n {
			t.Fatalf("%d suspects with %d clients", count, n)
		}
	}
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.advance(h.s.cfg.Tick)
	if count := len(h.s.evictions.suspects); count > 0 || h.s.stats.Evictions != n {
		t.Errorf("%d suspects, %d of %d evicted", count, h.s.stats.Evictions, n)
	}
}

// TestSuspectedAgain: CH-26, CH-A8: another server has recorded a later master, so the client is not evicted. It
// chooses this server again, and dies: it is evicted then.
func TestSuspectedAgain(t *testing.T) {
	spec.Covers(t, "CH-26", "CH-A8")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	h.want("look suspended broadcast1")
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA}}}, gone)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 3, Server: me})
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.advance(h.s.cfg.Evict)
	h.advance(h.s.cfg.Tick)
	h.want("suspended broadcast1")
}

// TestLookAfterQuorum: CH-8, CH-26: the transport answered while this server had no quorum, and the
// client's node has sent messages since. When the quorum returns, the server asks the transport again,
// and evicts the client only if the answer to that question shows that the node is silent.
func TestLookAfterQuorum(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-26")
	for _, heard := range []bool{true, false} {
		h := newHarness(t, nil)
		tick, evict := h.s.cfg.Tick, h.s.cfg.Evict
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: QuorumIs, Unsure: true})
		h.advance(evict)
		h.want("look")
		h.advance(evict / 2)
		h.want("")
		h.slowLook = true
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.want("quorum-won look")
		h.advance(2 * tick)
		h.want("")
		if heard {
			h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now - tick})
		} else {
			h.step(ServerInput{Kind: Seen, Client: testClient, Failed: true})
		}
		h.advance(tick)
		h.want(map[bool]string{true: "ask", false: "suspended broadcast1"}[heard])
	}
}
