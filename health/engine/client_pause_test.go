package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestPingAfterPause: CH-56: the master's clock goes on while a client stands still. So a client
// pings as soon as it runs again, even if no ping is due by its own clock, which stood still.
// Without that ping, a second pause soon after could make the silence as long as T_evict.
func TestPingAfterPause(t *testing.T) {
	spec.Covers(t, "CH-56")
	for _, missed := range []time.Duration{time.Second / 2, 8 * time.Second} {
		h := newClientHarness(t, me, otherA)
		h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
		h.step(ClientInput{Kind: Attach, Server: h.other()}) // this server does not answer; the client asks it again long before a ping is due
		if h.wake >= h.now+h.c.cfg.Ping {
			t.Fatalf("wakes after %v", h.wake-h.now)
		}
		h.now = h.wake + missed
		h.from(h.c.master, wire.Message{Kind: wire.Pong, ServerIncarnation: 7, Epoch: 1}) // the answer of the master arrived during the pause
		pings := 0
		for k, m := range h.sent {
			if m.Kind == wire.Ping && h.to[k] == h.c.master {
				pings++
			}
		}
		if want := missed > h.c.cfg.Ping/5; (pings == 1) != want {
			t.Errorf("%d pings after a pause of %v", pings, missed)
		}
	}
}

// TestKeepAfterPause: CH-56: a client that looks for another master pings the old one as soon as
// it runs again after a pause.
func TestKeepAfterPause(t *testing.T) {
	spec.Covers(t, "CH-56")
	h := newClientHarness(t, me, otherA)
	master := h.settled()
	h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Draining})
	if h.c.old() == nil || h.wake >= h.c.keepAt {
		t.Fatalf("%v, wakes at %v, pings at %v", h.c.phase, h.wake, h.c.keepAt)
	}
	h.now = h.wake + 8*time.Second
	h.step(ClientInput{})
	for k, m := range h.sent {
		if m.Kind == wire.Ping && h.to[k] == master {
			return
		}
	}
	t.Errorf("sent %+v", h.sent)
}
