package o2iblnd

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/machine"
)

// fails makes a request of either side fail while a message waits.
func (h *setHarness) fails(kind peerInKind, why Reason) peerOut {
	h.t.Helper()
	return h.step(peerIn{kind: kind, queued: true, err: newError(why, lustre(h.s.cfg.peer), nil)})
}

// TestRaceForged: waiting messages rely on accepted requests for no longer than a second,
// however many follow. Then this side sends one request of its own.
func TestRaceForged(t *testing.T) {
	spec.Covers(t, "OB-1")
	h := newSetHarness(t, lowNID, highNID)
	h.connect()
	due := h.now + acceptTimeout
	if out := h.request(); !out.withdraw {
		t.Fatalf("%+v", out)
	}
	h.fails(peerFailed, RejectedRace)
	for _, left := range []time.Duration{acceptTimeout, acceptTimeout / 2, 1} {
		h.now = due - left
		if out := h.request(); out.why != 0 {
			t.Fatalf("%+v", out)
		}
		if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 0 || h.wake != due {
			t.Errorf("%v before its time: %+v, wakes at %v", left, out, h.wake)
		}
	}
	h.now = due
	if out := h.step(peerIn{}); out.connect != 0 || h.wake != machine.Never {
		t.Errorf("asks for nothing: %+v", out)
	}
	a := h.s.ask()
	if out := h.step(peerIn{queued: true}); out.connect != 1 || h.wake != machine.Never {
		t.Fatalf("%+v, wakes at %v", out, h.wake)
	}
	if out := h.request(); out.why != 0 || out.withdraw || h.s.needless(h.now) {
		t.Errorf("one more makes it give up: %+v", out)
	}
	if out := h.reject(a, kib.ConnStale, kib.Reject{Stamp: 6}); out.connect != 1 || h.s.ask().stamp != 6 {
		t.Errorf("does not get over a forged stamp: %+v", out)
	}
	if out := h.fails(peerFailed, Unreachable); !out.failPending || out.connect != 0 || h.wake != machine.Never {
		t.Errorf("%+v, wakes at %v", out, h.wake)
	}
}

// TestRaceForgedPause: a forged request does not shorten the pause of a node that has lost a
// race and waits to repeat its own request.
func TestRaceForgedPause(t *testing.T) {
	spec.Covers(t, "OB-1")
	h := newSetHarness(t, lowNID, highNID)
	h.request()
	h.now += acceptTimeout
	a := h.connect()
	h.reject(a, kib.ConnRace, kib.Reject{})
	if out := h.request(); out.why != 0 || h.s.retryAt != h.now+racePause {
		t.Errorf("%+v, asks again at %v", out, h.s.retryAt)
	}
	h.wait()
}

// TestRaceYields: if the winning request of the peer fails, this side repeats its own request for
// waiting messages. A race that was lost in an earlier attempt is no reason to repeat a request.
func TestRaceYields(t *testing.T) {
	spec.Covers(t, "OB-1")
	for _, tt := range []struct {
		name  string
		last  func(h *setHarness) peerOut
		again bool
	}{
		{"refused, then accepted", func(h *setHarness) peerOut {
			h.reject(h.connect(), kib.ConnRace, kib.Reject{})
			h.request()
			return h.fails(peerAcceptFailed, PeerClosed)
		}, true},
		{"one of two refused, then accepted", func(h *setHarness) peerOut {
			h.s.cfg.connsPerPeer = 2
			h.step(peerIn{kind: peerSend, queued: true})
			h.reject(h.s.ask(), kib.ConnRace, kib.Reject{})
			h.request()
			h.fails(peerAcceptFailed, PeerClosed)
			return h.fails(peerFailed, Unreachable)
		}, true},
		{"withdrawn after the winner has failed", func(h *setHarness) peerOut {
			h.connect()
			h.request()
			if out := h.fails(peerAcceptFailed, PeerClosed); out.connect != 0 || out.failPending {
				h.t.Errorf("its own request has no answer yet: %+v", out)
			}
			return h.fails(peerFailed, RejectedRace)
		}, true},
		{"withdrawn, a second ago", func(h *setHarness) peerOut {
			h.connect()
			h.request()
			h.fails(peerFailed, RejectedRace)
			h.now += acceptTimeout
			h.connect()
			return h.fails(peerFailed, Unreachable)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := tt.last(newSetHarness(t, lowNID, highNID))
			if (out.connect == 1) != tt.again || out.failPending == tt.again {
				t.Errorf("%+v", out)
			}
		})
	}
}

// TestAcceptedInRedial: forged packets cause a redial, and an accepted request of the peer that is forged, too. A message
// waits for that request for no longer than a second, and for the redial not at all.
func TestAcceptedInRedial(t *testing.T) {
	accepted := func() *setHarness { // a redial is under way, and a request of the peer was accepted
		h := newSetHarness(t, highNID, lowNID)
		h.step(peerIn{kind: peerStale})
		h.now += freshAttempt
		if out := h.request(); out.why != kib.ConnRace {
			t.Fatalf("%+v", out)
		}
		if out := h.request(); out.why != 0 {
			t.Fatalf("%+v", out)
		}
		return h
	}
	h := accepted()
	if out := h.fails(peerAcceptFailed, PeerClosed); out.connect != 1 || h.s.ask().redial {
		t.Errorf("the peer's request has failed: %+v; asks for %+v", out, h.s.ask())
	}
	if out := h.fails(peerFailed, Unreachable); out.connect != 0 || out.failPending || out.down {
		t.Errorf("the redial has failed: %+v", out)
	}
	if out := h.fails(peerFailed, Unreachable); !out.failPending || !out.down || !h.s.idle() {
		t.Errorf("the request for the message has failed: %+v", out)
	}
	h = accepted()
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 0 || h.wake != h.now+acceptTimeout {
		t.Fatalf("%+v, wakes at %v", out, h.wake)
	}
	h.now = h.wake
	if out := h.step(peerIn{kind: peerTimer, queued: true}); out.connect != 1 {
		t.Errorf("no answer of the peer for %v: %+v", acceptTimeout, out)
	}
	h = accepted()
	if out := h.step(peerIn{kind: peerAcceptFailed, err: newError(PeerClosed, lustre(lowNID), nil)}); out.connect != 0 || !h.s.ask().redial {
		t.Errorf("no message waits: %+v; asks for %+v", out, h.s.ask())
	}
}
