package o2iblnd

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/nid"
)

// request makes the peer send a CONNREQ.
func (h *setHarness) request() peerOut {
	h.t.Helper()
	return h.step(peerIn{kind: peerRequest, stamp: 5, version: kib.V2})
}

// wait lets time pass until the set repeats its request, and returns how long that took.
func (h *setHarness) wait() time.Duration {
	h.t.Helper()
	began := h.now
	if h.s.retryAt == 0 {
		h.t.Fatal("does not want to ask again")
	}
	h.now = h.s.retryAt - 1
	if out := h.step(peerIn{queued: true}); out.connect != 0 {
		h.t.Fatal("asked too early")
	}
	h.now++
	if out := h.step(peerIn{queued: true}); out.connect != 1 {
		h.t.Fatalf("%+v", out)
	}
	return h.now - began
}

// TestRace: if two nodes send requests at once, the request of the node with the higher NID
// wins (o2iblnd-wire §7.3). That holds as long as the request is fresh, and until the other
// node has lost twenty times in a row.
func TestRace(t *testing.T) {
	spec.Covers(t, "OB-1")
	h := newSetHarness(t, highNID, lowNID)
	h.connect()
	for range maxRaces {
		if out := h.request(); out.why != kib.ConnRace || out.reason != RefusedRace {
			t.Fatalf("%+v", out)
		}
	}
	if out := h.request(); out.why != 0 || h.s.accepting != 1 || out.withdraw {
		t.Errorf("%+v", out)
	}
	h = newSetHarness(t, highNID, lowNID)
	h.connect()
	h.now += freshAttempt - 1
	for range 2 {
		if out := h.request(); out.why != kib.ConnRace {
			t.Errorf("%+v", out)
		}
	}
	h.now++
	if out := h.request(); out.why != 0 || out.withdraw {
		t.Errorf("%+v", out)
	}
	out := h.step(peerIn{kind: peerAccepted, stamp: 5, version: kib.V2})
	if !out.up || !out.withdraw {
		t.Errorf("the own request goes on: %+v", out)
	}
	h = newSetHarness(t, highNID, lowNID)
	h.connect()
	h.now += time.Second
	if out := h.request(); out.why != kib.ConnRace {
		t.Errorf("the first: %+v", out)
	}
	if out := h.request(); out.why != 0 {
		t.Errorf("the second: %+v", out)
	}
}

// TestRaceLost: the lower node withdraws its request when it accepts the request of the higher
// node, and repeats it if no connection follows and messages wait.
func TestRaceLost(t *testing.T) {
	spec.Covers(t, "OB-1")
	lose := map[string]func(h *setHarness){
		"withdrawn": func(h *setHarness) {
			h.step(peerIn{kind: peerFailed, queued: true, err: newError(RejectedRace, lustre(highNID), nil)})
		},
		"refused": func(h *setHarness) {
			if out := h.reject(h.s.ask(), kib.ConnRace, kib.Reject{}); out.connect != 0 || out.failPending || out.reason != RejectedRace {
				t.Errorf("asks in spite of a request that was accepted: %+v", out)
			}
		},
	}
	for name, lost := range lose {
		for _, queued := range []bool{true, false} {
			h := newSetHarness(t, lowNID, highNID)
			h.connect()
			if out := h.request(); out.why != 0 || !out.withdraw {
				t.Errorf("%s: %+v", name, out)
			}
			lost(h)
			if !h.s.needless(h.now) || h.s.connecting != 0 {
				t.Errorf("%s: still asking: %+v", name, h.s)
			}
			out := h.step(peerIn{kind: peerAcceptFailed, queued: queued, err: newError(PeerClosed, lustre(highNID), nil)})
			if (out.connect == 1) != queued || out.failPending {
				t.Errorf("%s, messages %v: %+v", name, queued, out)
			}
			if !queued {
				continue
			}
			out = h.step(peerIn{kind: peerFailed, queued: true, err: newError(Unreachable, lustre(highNID), nil)})
			if !out.failPending || !h.s.idle() {
				t.Errorf("%s: it goes on without end: %+v", name, out)
			}
		}
	}
}

// TestRacePause: a node that has lost a race does not repeat its request at once. Its
// 21st request comes before a kernel would repeat a lost request. After that it sends one request a
// second. While it waits, it accepts a request of the winner.
func TestRacePause(t *testing.T) {
	spec.Covers(t, "OB-1")
	h := newSetHarness(t, lowNID, highNID)
	a := h.connect()
	var all, last time.Duration
	for i := range maxRaces {
		if out := h.reject(a, kib.ConnRace, kib.Reject{}); out.connect != 0 || out.failPending || h.s.idle() {
			t.Fatalf("%+v", out)
		}
		took := h.wait()
		if took < last || i == 0 && took != racePause {
			t.Errorf("waits %v after %v", took, last)
		}
		all, last = all+took, took
	}
	if all < time.Second || all > 2*time.Second {
		t.Errorf("asks %d times in %v", maxRaces+1, all)
	}
	h.reject(a, kib.ConnRace, kib.Reject{})
	h.wait()
	h.reject(a, kib.ConnRace, kib.Reject{})
	if took := h.wait(); took != reconnectPause {
		t.Errorf("waits %v", took)
	}
	h.reject(a, kib.ConnRace, kib.Reject{})
	if out := h.request(); out.why != 0 || out.withdraw || h.s.retryAt != 0 {
		t.Errorf("%+v", out)
	}
	h.step(peerIn{kind: peerAccepted, stamp: 5, version: kib.V2})
	h.step(peerIn{kind: peerClosed, err: newError(PeerClosed, lustre(highNID), nil)})
	h.connect()
	h.reject(a, kib.ConnRace, kib.Reject{})
	if took := h.wait(); took != racePause {
		t.Errorf("waits %v for the first time after a connection", took)
	}
}

// TestRaceOfMany: several requests that are sent at once and lose count as one lost race.
func TestRaceOfMany(t *testing.T) {
	spec.Covers(t, "OB-1")
	h := newSetHarness(t, lowNID, highNID)
	h.s.cfg.connsPerPeer = 4
	a := h.s.ask()
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 4 {
		t.Fatalf("%+v", out)
	}
	for range 4 {
		h.reject(a, kib.ConnRace, kib.Reject{})
	}
	if h.s.retryAt != h.now+racePause || h.s.lost != 1 {
		t.Errorf("%+v", h.s)
	}
	h.now = h.s.retryAt
	if out := h.step(peerIn{queued: true}); out.connect != 4 || h.s.connecting != 4 {
		t.Errorf("%+v", out)
	}
	h.request()
	if out := h.step(peerIn{kind: peerAccepted, stamp: 5, version: kib.V2}); !out.up || out.withdraw || h.s.needless(h.now) {
		t.Errorf("one of four is enough: %+v", out)
	}
}

// TestBothHigher: kernels before 2.16 order NIDs in another way, so both nodes may refuse the
// other's request. Such a kernel repeats its own at once, ten times, and then once a second.
func TestBothHigher(t *testing.T) {
	h := newSetHarness(t, highNID, lowNID)
	h.connect()
	for range fastReconnects + 1 {
		if out := h.request(); out.why != kib.ConnRace {
			t.Fatalf("%+v", out)
		}
		h.now += time.Millisecond / 2
	}
	h.now += reconnectPause
	if out := h.request(); out.why != 0 {
		t.Errorf("%+v", out)
	}
}

// TestRaceKey: addresses are compared as a little-endian node has them in memory.
func TestRaceKey(t *testing.T) {
	if got := raceKey(lowNID); got != 5<<16^0x01000A0A {
		t.Errorf("%#x", got)
	}
	if higher(nid.MustParse("10.10.1.1@o2ib"), nid.MustParse("10.10.0.2@o2ib")) {
		t.Error("the last byte counts most")
	}
}
