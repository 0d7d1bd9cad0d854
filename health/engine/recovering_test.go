package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestRecoveringPings: CH-8, CH-66: a client that pings its restarted master is alive, even if it has
// tried other servers since and so pings with a later epoch than that of the record.
func TestRecoveringPings(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-66")
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: me, Epoch: 1, Peer: host}})
	for range 4 {
		h.advance(h.s.cfg.Ping)
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 9})
	}
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.advance(h.s.cfg.Evict - 2*time.Second)
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.advance(2*time.Second + 2*h.s.cfg.Tick)
	h.wantState("evicting 5 10.0.0.1@tcp/1")
}
