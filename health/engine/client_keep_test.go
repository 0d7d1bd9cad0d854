package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestPingsOldMaster: a client that finds no new master keeps pinging the old one, which would
// otherwise evict the client. If the old master answers that it does not know the client, the
// client accepts that (CH-8, CH-56).
func TestPingsOldMaster(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-56")
	h := newClientHarness(t, me, otherA, otherB)
	old := h.settled()
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.Draining})
	pings, steps := 0, 0
	for last, end := h.now, h.now+3*h.c.cfg.Evict; h.now < end; {
		for len(h.sent) > 0 {
			if h.to[0] == old {
				last = h.now
			}
			if h.sent[0].Kind != wire.Ping {
				h.answer(0, wire.Message{Kind: wire.Chosen, Code: wire.Draining})
				continue
			}
			pings++
			h.sent, h.to = h.sent[1:], h.to[1:]
		}
		if h.now > last+h.c.cfg.Ping {
			t.Fatalf("the old master has heard nothing for %v", h.now-last)
		}
		if steps++; steps > 1000 {
			t.Fatalf("%d steps until %v: what is due is not done, and the client is called for it over and over", steps, h.now)
		}
		h.now = h.wake
		h.step(ClientInput{})
	}
	if pings < 9 || pings > 12 {
		t.Errorf("%d pings in three eviction time-outs", pings)
	}
	h.from(old, wire.Message{Kind: wire.Pong, Code: wire.NotConnected})
	if h.told != "dropped:not-connected" {
		t.Errorf("told %q", h.told)
	}
}

// TestRefusedConnectIsIncarnation: a connect counts as a sign of liveness even if it is refused
// (CH-8).
func TestRefusedConnectIsIncarnation(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-71")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.advance(h.s.cfg.Evict - time.Second)
	h.connect(5, nid.MustParse("9.9.9.9@tcp"), 2)
	h.want("reject:unknown-server")
	h.advance(3 * time.Second)
	h.wantState("connected 5 " + me.String() + "/1")
}
