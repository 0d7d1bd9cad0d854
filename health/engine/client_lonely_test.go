package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestSaysWhyAlone: a client that no server accepts reports this once a minute, with the latest
// answer of each server, or that the server does not answer. A client with a master does not
// report it.
func TestSaysWhyAlone(t *testing.T) {
	h := newClientHarness(t, me, otherA, otherB)
	var said []time.Duration
	began := h.now
	check := func() {
		for _, e := range h.out.Effects {
			if e.Kind != Lonely {
				continue
			}
			said = append(said, h.now-began)
			want := []Answer{{Server: me, Code: wire.NoQuorum}, {Server: otherA, Code: wire.Ahead}, {Server: otherB}}
			slices.SortFunc(h.out.Answers, func(a, b Answer) int { return a.Server.Compare(b.Server) })
			if !slices.Equal(h.out.Answers, want) || len(h.c.Status().Answers) != len(want) {
				t.Errorf("after %v: %v, want %v; status %v", h.now-began, h.out.Answers, want, h.c.Status().Answers)
			}
		}
	}
	refusals := map[nid.NID]wire.Code{me: wire.NoQuorum, otherA: wire.Ahead}
	for h.now < began+5*time.Minute {
		for len(h.sent) > 0 && refusals[h.to[0]] != wire.OK { // after a refusal the client asks the next server at once
			h.answer(0, wire.Message{Kind: wire.Reject, Code: refusals[h.to[0]]})
			check()
		}
		h.now = h.wake
		h.step(ClientInput{})
		check()
	}
	if len(said) < 4 || len(said) > 5 || said[0] > 10*time.Second {
		t.Errorf("said after %v, want once a minute from the first round on", said)
	}
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	if s := h.c.Status(); s.State != "settled" || s.Answers != nil {
		t.Errorf("with a master: %+v", s)
	}
}

// TestEpochsRunOut: CH-62: no candidate agrees to be a client's master for weeks, until the client has used up the
// epochs that servers accept. It then begins its next incarnation. If a server was connected to the old one, the
// client tells its program that this one has ended.
func TestEpochsRunOut(t *testing.T) {
	spec.Covers(t, "CH-62")
	for _, connected := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		if connected {
			master := h.settled()
			h.from(master, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
		}
		h.c.epoch = maxEpoch - epochJump
		incarnation, told := h.c.incarnation, ""
		for end := h.now + time.Minute; h.c.incarnation == incarnation && h.now < end; {
			h.now = h.wake
			h.step(ClientInput{})
			told = h.told
			for _, m := range h.sent {
				if m.Kind == wire.Connect && m.Epoch > maxEpoch {
					t.Fatalf("epoch %d", m.Epoch)
				}
			}
		}
		if h.c.incarnation == incarnation || strings.Contains(told, "evicted") != connected {
			t.Errorf("connected: %v: incarnation %d, told %q", connected, h.c.incarnation, told)
		}
		for len(h.sent) == 0 {
			h.now = h.wake
			h.step(ClientInput{})
		}
		if m := h.sent[0]; m.Kind != wire.Connect || m.Epoch != 1 || m.Incarnation != h.c.incarnation {
			t.Errorf("asks %+v", m)
		}
	}
}
