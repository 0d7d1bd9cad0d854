package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// pings makes time pass until the client pings its master, and returns the ping.
func (h *clientHarness) pings() wire.Message {
	h.t.Helper()
	for range 10 {
		h.now = h.wake
		h.step(ClientInput{})
		for i, m := range h.sent {
			if m.Kind == wire.Ping && h.to[i] == h.c.master {
				return m
			}
		}
	}
	h.t.Fatal("the client does not ping")
	return wire.Message{}
}

// TestClientPingTime: the step that handles a master's answer to a ping reports, once, how long the answer
// took. The time counts from the first ping that the master had not answered, whichever ping it answers
// now. Answers with a sequence number that no ping had, and answers of other servers, are not measured.
func TestClientPingTime(t *testing.T) {
	spec.Covers(t, "OP-91")
	h := newClientHarness(t, me, otherA)
	master, other := h.settled(), h.other()
	pong := func(m wire.Message) wire.Message {
		return wire.Message{Kind: wire.Pong, ServerIncarnation: 7, Sequence: m.Sequence}
	}
	want := func(d time.Duration) {
		t.Helper()
		if h.out.PingTime != d {
			t.Errorf("at %v: %v, want %v", h.now, h.out.PingTime, d)
		}
	}
	first := h.pings()
	began := h.now
	want(0)
	h.now += time.Millisecond
	for _, sequence := range []uint64{0, first.Sequence - 1, first.Sequence + 1, ^uint64(0)} {
		h.from(master, pong(wire.Message{Sequence: sequence}))
		want(0)
	}
	h.from(other, pong(first))
	want(0)
	h.from(master, pong(first))
	want(h.now - began)
	h.from(master, pong(first))
	want(0)

	h.pings()
	began = h.now
	second := h.pings()
	if h.now <= began {
		t.Fatal("no time between two pings")
	}
	h.now += time.Millisecond
	h.from(master, pong(second))
	want(h.now - began)

	h.from(master, pong(h.pings()))
	want(1) // the answer came at the instant of the ping: 1 ns, because 0 means that there was no answer
}
