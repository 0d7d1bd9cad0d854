package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// allTold reports whether the client emitted AllTold in the latest step.
func (h *clientHarness) allTold() bool {
	for i := range h.out.Effects {
		if h.out.Effects[i].Kind == AllTold {
			return true
		}
	}
	return false
}

// TestFarewell: CH-8: a client that leaves repeats its farewell to each server until that
// server has answered, at growing intervals, and for T_evict at most.
func TestFarewell(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newClientHarness(t, me, otherA)
	h.settled()
	h.step(ClientInput{Kind: ClientLeave})
	h.want("", wire.Disconnect, wire.Disconnect)
	if h.allTold() || len(h.c.Unaware()) != 2 {
		t.Fatalf("at once; unaware: %v", h.c.Unaware())
	}
	first, deaf := h.sent[0], h.to[1]
	h.from(deaf, wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Sequence: first.Sequence}) // one server cannot acknowledge for another
	h.from(h.to0(first), wire.Message{Kind: wire.Reject, Code: wire.Busy, Sequence: first.Sequence})
	if len(h.c.Unaware()) != 2 {
		t.Fatalf("unaware: %v", h.c.Unaware())
	}
	h.from(h.to0(first), wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Sequence: first.Sequence})
	if h.allTold() || len(h.c.Unaware()) != 1 {
		t.Fatalf("after one answer; unaware: %v", h.c.Unaware())
	}
	began, last, gap, times := h.now, h.now, time.Duration(0), 0
	for !h.allTold() {
		if h.wake == machine.Never {
			t.Fatal("it is never over")
		}
		h.now = h.wake
		h.step(ClientInput{})
		for i, m := range h.sent {
			if m.Kind != wire.Disconnect || h.to[i] != deaf || m.Incarnation != 5 || m.Code != wire.OK || h.now-last < gap {
				t.Fatalf("%v after the last: %+v to %v", h.now-last, m, h.to[i])
			}
			last, gap = h.now, h.now-last
			times++
		}
	}
	if took := h.now - began; took != h.c.cfg.Evict || times < 4 || times > 10 {
		t.Errorf("said %d times more in %v", times, took)
	}
	if h.wake != machine.Never || len(h.c.Unaware()) != 1 {
		t.Errorf("it goes on at %v; unaware: %v", h.wake, h.c.Unaware())
	}
}

// to0 returns the server to which the client sent m, one of its farewells.
func (h *clientHarness) to0(m wire.Message) (to nid.NID) {
	for _, f := range h.c.farewells {
		if f.sequence == m.Sequence {
			return f.to
		}
	}
	h.t.Fatalf("no farewell with sequence %d", m.Sequence)
	return to
}

// TestFarewellAnswered: CH-8: a server answers a farewell whether or not it still has the
// client, except while the client's record is being saved. It ignores a farewell that was sent
// before the latest connect of the same incarnation, because the next program on the node can
// have the same number.
func TestFarewellAnswered(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newHarness(t, nil)
	bye := wire.Message{Kind: wire.Disconnect, Incarnation: 5, Sequence: 10}
	h.connect(5, me, 1) // the connect has sequence 9
	h.hold = true
	h.message(host, bye)
	h.want("evicted:left bury reject:not-connected")
	h.message(host, bye)
	h.want("reject:not-connected")
	if m := h.last(wire.Reject); m.Sequence != 10 || m.Incarnation != 5 || m.Client != testClient {
		t.Errorf("%+v", m)
	}
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5}) // a farewell as earlier versions send it, without a sequence number
	h.want("")
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 11}) // the client leaves this server only
	h.want("reject:not-connected")

	h = newHarness(t, nil)
	h.hold = true
	h.connect(5, me, 1)
	h.message(host, bye)
	h.want("")
	h.wantState("saving 5 10.0.0.1@tcp/1")

	h = newHarness(t, nil)
	h.connect(5, me, 1)
	bye.Sequence = 8
	h.message(host, bye)
	h.want("")
	h.wantState("connected 5 10.0.0.1@tcp/1")
}

// TestFarewellLost: CH-8: if the first copies of a farewell are lost, the connection ends with
// the first copy that arrives, before T_evict.
func TestFarewellLost(t *testing.T) {
	spec.Covers(t, "CH-8")
	w := populated(t, 1, 2)
	c := w.clients[0]
	if len(w.holders(c)) != 5 {
		t.Fatal("not connected")
	}
	w.loss = 1
	c.step(ClientInput{Kind: ClientLeave})
	w.run(time.Second)
	w.loss = 0
	if n := len(w.holders(c)); n != 5 {
		t.Fatalf("%d servers know that it left: nothing was lost", n)
	}
	w.run(3 * time.Second)
	if n := len(w.holders(c)); n != 0 || len(c.m.Unaware()) != 0 {
		t.Errorf("%d servers have it still; unaware: %v", n, c.m.Unaware())
	}
	if n := len(w.holders(w.clients[1])); n != 5 {
		t.Errorf("the other client is at %d servers", n)
	}
}

// TestDetachRepeated: CH-33: if a server does not receive the client's Disconnect, it keeps the
// connection for as long as the client runs. So the client repeats the message until the server
// answers, or until the client connects to that server again. The client does the same when it
// gives up a server that does not answer.
func TestDetachRepeated(t *testing.T) {
	spec.Covers(t, "CH-33")
	h := leftover(t)
	other, last := h.other(), h.sent[0]
	h.next(wire.Disconnect)
	if m := h.sent[len(h.sent)-1]; m.Code != wire.NotConnected || m.Sequence != last.Sequence || h.allTold() {
		t.Fatalf("it is told %+v", m)
	}
	h.from(other, wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Sequence: last.Sequence})
	if h.want(""); len(h.c.farewells) > 0 || h.allTold() {
		t.Errorf("after the answer: %+v", h.c.farewells)
	}

	h = leftover(t)
	h.step(ClientInput{Kind: Attach, Server: h.other()})
	if h.want("", wire.Connect); len(h.c.farewells) != 1 {
		t.Errorf("to who may refuse to connect again: %+v", h.c.farewells)
	}
	h.answer(0, wire.Message{Kind: wire.Accept})
	if h.want("attached"); len(h.c.farewells) > 0 {
		t.Errorf("to who has connected again: %+v", h.c.farewells)
	}

	h = newClientHarness(t, me, otherA)
	h.settled()
	p := h.c.known(h.other())
	p.wanted, p.silent = false, 1
	h.out.Reset()
	h.c.out = &h.out
	h.c.dropSilent()
	if len(h.c.farewells) != 1 || h.c.farewells[0].to != p.id {
		t.Errorf("to one that is silent: %+v", h.c.farewells)
	}
}

// next steps the client until it sends a message of the given kind; its master answers pings.
func (h *clientHarness) next(kind wire.Kind) {
	h.t.Helper()
	for end := h.now + time.Minute; h.now < end; {
		h.now = h.wake
		h.step(ClientInput{})
		for i, m := range h.sent {
			switch m.Kind {
			case kind:
				return
			case wire.Ping:
				h.answer(i, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
			}
		}
	}
	h.t.Fatalf("no %v within a minute", kind)
}
