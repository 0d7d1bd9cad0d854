package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// fifth is the fifth server of five.
var fifth = nid.MustParse("10.0.0.5@tcp")

// five returns the first of five servers. Discovery reports all of the others as alive but the one named gone.
func five(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, func(c *ServerConfig) { c.Servers = append(c.Servers, fifth) })
	h.health(true, fifth)
	return h
}

// health delivers reports of discovery about servers.
func (h *harness) health(alive bool, servers ...nid.NID) {
	h.t.Helper()
	for _, id := range servers {
		h.step(ServerInput{Kind: ServerHealth, Server: id, Alive: alive})
	}
}

// TestWaitsForReturningServers: CH-33, CH-62: a master and one more of five servers are cut off from the others, one of which the
// client chooses. The master evicts the client, and then hears a third server, which does not know the client. If
// discovery reports the new master as alive shortly after that, the client stays under it. If not, the client is
// evicted three ticks after the latest report.
func TestWaitsForReturningServers(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-62")
	for name, heard := range map[string]func(h *harness){
		"a server is back": func(h *harness) {
			h.health(false, otherB, gone, fifth)
			h.step(ServerInput{Kind: QuorumIs})
			h.done(wire.Reply{}, otherB, gone, fifth)
			h.advance(h.s.cfg.Tick)
			h.health(true, otherB)
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
		},
		"it has not been missed": func(h *harness) { h.health(false, gone, fifth) },
	} {
		for _, back := range []bool{false, true} {
			h := five(t)
			h.health(true, gone)
			h.advance(time.Minute)
			h.connect(5, me, 1)
			h.step(ServerInput{Kind: EvictClient, Client: testClient})
			heard(h)
			h.done(wire.Reply{Unknown: 2}, gone, fifth)
			h.wantState("evicting 5 10.0.0.1@tcp/1")
			h.advance(h.s.cfg.Tick / 2)
			if back {
				h.health(true, gone)
				h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: gone}}}, fifth)
			}
			h.advance(4 * h.s.cfg.Tick)
			if got := h.state(); got != map[bool]string{false: "none", true: "connected 5 10.0.0.4@tcp/2"}[back] {
				t.Errorf("%s, the new master too %v: the client is %q", name, back, got)
			}
		}
	}
}

// TestWaitsForFirstReports: CH-33, CH-62: to a master that was restarted, a server that it hears for the first time is one that
// comes back: others may follow, and the client may have chosen one of these.
func TestWaitsForFirstReports(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-62")
	h := newHarness(t, func(c *ServerConfig) { c.Servers = append(c.Servers, fifth) })
	h.advance(time.Minute)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.health(true, fifth)
	h.done(wire.Reply{Unknown: 3}, gone)
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.advance(h.s.cfg.Tick / 2)
	h.health(true, gone)
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: gone}}})
	h.advance(4 * h.s.cfg.Tick)
	h.wantState("connected 5 10.0.0.4@tcp/2")
}

// TestWaitsNotForEver: CH-28, CH-33: discovery reports a server that does not answer as dead and alive, over and over. A client
// is evicted six ticks after most servers, and all others that are alive, have answered.
func TestWaitsNotForEver(t *testing.T) {
	spec.Covers(t, "CH-28", "CH-33")
	h := five(t)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.health(false, fifth)
	h.done(wire.Reply{Evicted: 2}, gone, fifth)
	for range 6 {
		h.wantState("evicting 5 10.0.0.1@tcp/1")
		h.health(true, fifth)
		h.done(wire.Reply{}, gone, fifth) // it does not answer
		h.health(false, fifth)
		h.advance(h.s.cfg.Tick)
	}
	h.wantState("none")
}
