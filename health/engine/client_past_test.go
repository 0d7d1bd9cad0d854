package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestLateCopyOfNoQuorum: CH-68, CH-A13: a server without a quorum has ended the connection of a client, which is connected
// again since, with a later choice of a master. A late copy of the notice does not end that connection: the client asks the
// server. It takes the server's word if that has ended this connection, too.
func TestLateCopyOfNoQuorum(t *testing.T) {
	spec.Covers(t, "CH-68", "CH-A13")
	for _, ended := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		first := h.settled()
		notice := wire.Message{Kind: wire.Notice, Code: wire.NoQuorum, Epoch: h.c.epoch}
		h.from(first, notice)
		h.want("dropped:no-quorum master-lost:no-quorum")
		for len(h.sent) == 0 {
			h.now = h.wake
			h.step(ClientInput{})
		}
		h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
		h.step(ClientInput{Kind: Attach, Server: first})
		h.answer(0, wire.Message{Kind: wire.Accept})
		h.want("attached")
		h.from(first, notice)
		h.want("", wire.Choose)
		if ended {
			h.answer(0, wire.Message{Kind: wire.Chosen, Code: wire.NotConnected})
			h.want("dropped:not-connected")
			continue
		}
		h.answer(0, wire.Message{Kind: wire.Chosen, Server: h.c.master})
		h.want("")
		notice.Epoch = h.c.epoch
		h.from(first, notice)
		h.want("dropped:no-quorum")
	}
}

// TestLateCopyOfMastersNoQuorum: CH-68, CH-A13: the same if the server has become the master again: the client pings it.
func TestLateCopyOfMastersNoQuorum(t *testing.T) {
	spec.Covers(t, "CH-68", "CH-A13")
	h := newClientHarness(t, me)
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	notice := wire.Message{Kind: wire.Notice, Code: wire.NoQuorum, Epoch: h.c.epoch}
	h.now += 2 * time.Second
	h.chooseAgain(func() { h.from(me, notice) })
	h.from(me, notice)
	h.want("", wire.Ping)
	h.answer(0, wire.Message{Kind: wire.Pong, Code: wire.NotConnected, ServerIncarnation: 7})
	h.want("dropped:not-connected master-lost:not-connected")
}

// TestLateCopyOfNotConnected: CH-A13: a master has answered a ping that the client is not connected, and has accepted it again
// since. A late copy of that answer does not end the connection: the client pings once more.
func TestLateCopyOfNotConnected(t *testing.T) {
	spec.Covers(t, "CH-A13")
	h := newClientHarness(t, me)
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	pong := wire.Message{Kind: wire.Pong, Code: wire.NotConnected, ServerIncarnation: 7, Epoch: h.c.epoch}
	h.now += 2 * time.Second
	h.chooseAgain(func() { h.from(me, pong) })
	h.from(me, pong)
	h.want("", wire.Ping)
	h.from(me, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
	h.want("master-lost:draining")
	h.from(me, pong)
	h.want("")
}

// chooseAgain makes the only server end the connection of the client, and become its master again.
func (h *clientHarness) chooseAgain(end func()) {
	h.t.Helper()
	end()
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	h.want("attached master-chosen")
}

// TestDeclinedWhileConnected: CH-51: the answer with which a candidate accepts a client is lost, so the client does not
// know that it is connected. When the client asks again, the candidate refuses, because it drains, but keeps the
// connection. The client then treats it as a server to which it is connected: it informs it of the master, and
// disconnects. A candidate that refuses the first request is not informed.
func TestDeclinedWhileConnected(t *testing.T) {
	spec.Covers(t, "CH-51")
	for _, before := range []bool{true, false} {
		h := newClientHarness(t, me, otherA)
		first := h.to[0]
		if before { // no answer to the first connect, and the other server refuses: the next round begins
			for len(h.sent) == 0 || h.to[0] == first {
				h.now = h.wake
				h.step(ClientInput{})
			}
			h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Full})
			for len(h.sent) == 0 || h.to[0] != first {
				if h.now = h.wake; len(h.sent) > 0 {
					h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Full})
					continue
				}
				h.step(ClientInput{})
			}
		}
		h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Draining})
		for len(h.sent) == 0 || h.to[0] == first {
			h.now = h.wake
			h.step(ClientInput{})
		}
		h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
		if told := slices.Contains(h.to, first); told != before {
			t.Errorf("connected %v: told %v", before, told)
			continue
		}
		if before {
			h.want("attached master-chosen", wire.Choose)
			h.answer(0, wire.Message{Kind: wire.Chosen, Server: h.c.master})
			h.want("", wire.Disconnect)
		}
	}
}
