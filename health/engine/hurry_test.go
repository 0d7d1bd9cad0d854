package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestOrphanHurries: CH-A14, CH-A19: no server has agreed to be the client's master, so the client waits before it
// asks all again. When a server that holds the client as an orphan sends a notice or a pong, the client soon begins
// the next round, and asks that server first.
func TestOrphanHurries(t *testing.T) {
	spec.Covers(t, "CH-A14", "CH-A19")
	for name, sign := range map[string]wire.Message{
		"notice": {Kind: wire.Notice, Code: wire.Orphaned}, "pong": {Kind: wire.Pong, Code: wire.Orphaned},
	} {
		h := newClientHarness(t, me, otherA)
		master := h.settled()
		for h.c.election.candidate.IsValid() || h.c.election.at-h.c.now < 4*h.c.cfg.Try { // no server answers
			h.now = h.wake
			h.step(ClientInput{})
		}
		h.from(master, sign)
		h.now += 3 * h.c.cfg.Try / 2
		h.step(ClientInput{})
		if h.c.election.candidate != master {
			t.Errorf("%s: %v is asked, not %v, which has shown that it is alive", name, h.c.election.candidate, master)
		}
	}
}

// TestOldMasterIsTold: CH-51, goal G-CH-3: a client that has chosen another master tells the old one, which does not
// answer, in the next T_evict more often than once per T_ping, since the old one may be there again at any moment and
// evicts a client of which it hears nothing.
func TestOldMasterIsTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA)
	old := h.settled()
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	for last, end := h.now, h.now+h.c.cfg.Evict; h.now < end; {
		h.now = h.wake
		h.step(ClientInput{})
		for i, m := range h.sent {
			switch {
			case m.Kind == wire.Ping:
				h.answer(i, wire.Message{Kind: wire.Pong, ServerIncarnation: 8})
			case h.to[i] == old && h.now-last > h.c.cfg.Ping:
				t.Fatalf("told %v after the last time", h.now-last)
			case h.to[i] == old:
				last = h.now
			}
			if len(h.sent) == 0 {
				break
			}
		}
	}
}

// TestPauseWhileAsking: goal G-CH-3: a client stands still after it has asked a candidate, and finds the agreement when
// it goes on. The new master has heard nothing of it for as long as the pause, so the client pings it at once.
func TestPauseWhileAsking(t *testing.T) {
	spec.Covers(t, "G-CH-3")
	h := newClientHarness(t, me)
	asked := h.sent[0]
	h.now += 9 * time.Second
	h.from(me, wire.Message{Kind: wire.Accept, Sequence: asked.Sequence, Epoch: asked.Epoch, ServerIncarnation: 7})
	h.want("attached master-chosen", wire.Ping)
}
