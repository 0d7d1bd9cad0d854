package engine

import (
	"testing"

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
