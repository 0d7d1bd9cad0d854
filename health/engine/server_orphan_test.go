package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestOrphan: CH-18, CH-19, CH-20, CH-A19, CH-54, CH-67, CH-68: the clients of a dead master
// are told after a third of T_orphan, and are evicted at its end.
func TestOrphan(t *testing.T) {
	spec.Covers(t, "CH-18", "CH-19", "CH-20", "CH-54", "CH-67", "CH-68", "CH-A19")
	start := func() *harness {
		h := newHarness(t, nil)
		h.connect(5, otherA, 1)
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.want("orphaned")
		return h
	}
	h := start()
	orphan := h.s.cfg.Orphan
	h.advance(orphan/3 - time.Second)
	h.want("")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:orphaned")
	h.advance(time.Second + h.s.cfg.Tick/10)
	h.want("notice:orphaned")
	if n := h.last(wire.Notice); n.Server != otherA || n.Epoch != 1 || n.Incarnation != 5 || n.ServerIncarnation != 77 {
		t.Errorf("notice %+v", n)
	}
	h.advance(orphan*2/3 - time.Second)
	h.want("notice:orphaned notice:orphaned notice:orphaned")
	h.advance(time.Second + h.s.cfg.Tick)
	h.want("notice:global evicted:lost-master bury")

	h = start()
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB})
	h.want("save rehomed chosen")
	h.wantState("connected 5 10.0.0.3@tcp/2")

	// Discovery did not report a death, but the number of deaths has risen.
	h = newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
	h.want("orphaned")

	// The master leaves the cluster.
	h = newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: SetServers, Servers: []nid.NID{me, otherB}})
	h.want("orphaned")
}

// TestChoose: CH-17, CH-51, CH-62, CH-A2, CH-A18: a client names its master, in order and out
// of order.
func TestChoose(t *testing.T) {
	spec.Covers(t, "CH-17", "CH-51", "CH-62", "CH-A2", "CH-A17", "CH-A18")
	tests := []struct {
		name        string
		master      nid.NID
		epoch       uint32
		incarnation uint64
		setup       func(*harness)
		want        string
		state       string
	}{
		{"another", otherB, 3, 5, nil, "save rehomed chosen", "connected 5 10.0.0.3@tcp/3"},
		{"me", me, 3, 5, nil, "save rehomed chosen", "connected 5 10.0.0.1@tcp/3"},
		{"repeated", otherA, 2, 5, nil, "chosen", "connected 5 10.0.0.2@tcp/2"},
		{"CH-62 older", otherB, 1, 5, nil, "chosen:old-epoch", "connected 5 10.0.0.2@tcp/2"},
		{"CH-62 same epoch", otherB, 2, 5, nil, "chosen:old-epoch", "connected 5 10.0.0.2@tcp/2"},
		{"CH-A18 dead", gone, 3, 5, nil, "chosen:master-dead", "connected 5 10.0.0.2@tcp/2"},
		{"unknown", nid.MustParse("9.9.9.9@tcp"), 3, 5, nil, "chosen:unknown-server", "connected 5 10.0.0.2@tcp/2"},
		{"earlier life", otherB, 3, 4, nil, "chosen:stale", "connected 5 10.0.0.2@tcp/2"},
		{"later life", otherB, 3, 6, nil, "chosen:not-connected", "connected 5 10.0.0.2@tcp/2"},
		{"CH-A18 orphan, dead", gone, 3, 5, orphanA, "chosen:master-dead", "orphaned 5 10.0.0.2@tcp/2"},
		{"orphan, repeated", otherA, 2, 5, orphanA, "chosen:orphaned", "orphaned 5 10.0.0.2@tcp/2"},
		{"me, without quorum", me, 3, 5, func(h *harness) { h.step(ServerInput{Kind: QuorumIs}) }, "chosen:no-quorum", "connected 5 10.0.0.2@tcp/2"},
		{"me, draining", me, 3, 5, func(h *harness) { h.step(ServerInput{Kind: Drain, Alive: true}) }, "chosen:draining", "connected 5 10.0.0.2@tcp/2"},
		{"evicted", otherB, 3, 5, func(h *harness) { h.evicted(otherA, 5) }, "chosen:global", "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			h.connect(5, otherA, 2)
			if tt.setup != nil {
				tt.setup(h)
			}
			h.message(host, wire.Message{Kind: wire.Choose, Incarnation: tt.incarnation, Epoch: tt.epoch, Server: tt.master})
			h.want(tt.want)
			h.wantState(tt.state)
		})
	}
	// The old master stops watching the client (CH-A17).
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.advance(2 * h.s.cfg.Evict)
	if s := h.words(); strings.Contains(s, "suspended") {
		t.Errorf("the old master evicts: %q", s)
	}
}

func orphanA(h *harness) { h.step(ServerInput{Kind: ServerHealth, Server: otherA}) }

// TestQuorum: CH-30, CH-32, CH-34, CH-46, CH-A6, CH-68: a server that is cut off for T_q evicts
// all its clients locally and broadcasts nothing. The same incarnations may connect again.
func TestQuorum(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-32", "CH-34", "CH-46", "CH-68", "CH-A6")
	start := func(change func(*ServerConfig)) *harness {
		h := newHarness(t, change)
		h.connect(5, me, 1)
		h.message(nid.ProcessID{NID: otherB, PID: 3}, wire.Message{Kind: wire.Connect, Client: wire.ClientID{9}, Incarnation: 1, Server: otherA})
		h.step(ServerInput{Kind: QuorumIs})
		return h
	}
	const all = "notice:no-quorum evicted:lost-quorum remove notice:no-quorum evicted:lost-quorum remove"
	h := start(nil)
	h.want("quorum-lost")
	h.advance(h.s.cfg.Quorum - time.Millisecond)
	h.want("")
	h.step(ServerInput{Kind: QuorumIs, Alive: true}) // discovery reports the loss and return of the quorum within the grace time T_q
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum - time.Millisecond)
	h.want("")
	h.step(ServerInput{Kind: QuorumIs, Unsure: true}) // discovery has just restarted its own timeouts, and is not sure
	h.advance(10 * time.Second)
	if s := h.words(); strings.Contains(s, "lost-quorum") {
		t.Errorf("CH-A6: evicted although discovery is unsure: %q", s)
	}
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum)
	h.want(all)
	if st := h.s.Status(); st.Clients != 0 || st.Tombstones != 0 || h.s.Stats().Broadcasts != 0 {
		t.Errorf("%+v", st)
	}
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.connect(5, me, 1)
	h.want("save connected accept")

	h = start(func(c *ServerConfig) { c.Quorum = -1 }) // Quorum < 0: clients are evicted as soon as the quorum is lost, as the design says
	h.want("quorum-lost " + all)
}
