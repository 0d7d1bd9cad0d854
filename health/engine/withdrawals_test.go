package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// order makes a server evict incarnation 5 of the test's client for the choice of a master with the given epoch,
// or withdraw that eviction.
func (h *harness) order(from nid.NID, withdraw bool, epoch uint32) {
	h.t.Helper()
	h.wanted(from, wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: epoch})})
}

// order4 delivers otherA's eviction of incarnation 4 of the test's client, or the withdrawal of that eviction.
func (h *harness) order4(withdraw bool) {
	h.t.Helper()
	h.wanted(otherA, wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: 4, Mark: uint8(wire.TimedOut), Epoch: 1})})
}

// TestWithdrawnByTwo: CH-33, CH-A8: two servers withdraw their evictions of one client. Late copies of both
// evictions leave no tombstone, in whichever order the withdrawals arrive, and even if a third server evicts the
// client and withdraws that between them. An eviction by a server that has withdrawn none leaves a tombstone for
// the choice that it names.
func TestWithdrawnByTwo(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	for name, withdrawn := range map[string]func(h *harness){
		"the earlier choice first": func(h *harness) { h.order(otherA, true, 1); h.order(otherB, true, 4) },
		"the later choice first":   func(h *harness) { h.order(otherB, true, 4); h.order(otherA, true, 1) },
		"an eviction between them": func(h *harness) { h.order(otherA, true, 1); h.order(otherB, false, 4); h.order(otherB, true, 4) },
		"an old withdrawal last":   func(h *harness) { h.order(otherB, true, 4); h.order(otherA, true, 1); h.order(otherB, true, 2) },
		"one ignored at first":     func(h *harness) { h.order(otherB, false, 4); h.order(otherA, true, 1); h.order(otherB, true, 4) },
	} {
		h := newHarness(t, nil)
		withdrawn(h)
		h.order(otherA, false, 1)
		h.order(otherB, false, 3)
		if _, ok := h.s.Buried(testClient); ok {
			t.Errorf("%s: late copies leave a tombstone", name)
		}
		h.order(gone, false, 2)
		if g := h.s.tombstones.incarnations[testClient]; g.void || g.epoch != 2 || g.from != 3 {
			t.Errorf("%s: an eviction that is not withdrawn: %+v", name, g)
		}
	}
}

// TestWithdrawalKeepsEarlier: CH-65: a master has evicted an incarnation of a client, and withdraws its eviction
// of the next incarnation. It still refuses the first one.
func TestWithdrawalKeepsEarlier(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := newHarness(t, nil)
	h.connect(4, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 2}, gone)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherB}}}, gone)
	h.done(wire.Reply{}, gone)
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 10})
	h.wantState("none")
	h.connect(4, me, 1)
	h.want("reject:global")
	if incarnation, ok := h.s.Buried(testClient); !ok || incarnation != 4 {
		t.Errorf("it refuses incarnation %d (%v)", incarnation, ok)
	}
	if got := word5(h, wire.Connect, 2); got != "save connected accept" {
		t.Errorf("the client connects in the incarnation whose eviction was withdrawn: %q", got)
	}
	h = newHarness(t, nil)
	h.order(otherA, true, 1)
	h.advance(time.Minute)
	if _, ok := h.s.Buried(testClient); ok {
		t.Error("without an earlier tombstone an incarnation is refused")
	}
}

// TestToldOfWithdrawn: CH-A8, CH-33: a server has made the eviction of a first master, and knows that a later
// master has withdrawn its own eviction. A third server, which does not know of the withdrawal yet, reports a
// tombstone of the later master's eviction. When the first master withdraws its eviction as well, that report does
// not keep the tombstone alive.
func TestToldOfWithdrawn(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	h := newHarness(t, nil)
	h.mute = true
	h.order(otherA, false, 1)
	h.order(otherB, true, 2)
	h.told(tombstoneOf(2, time.Minute))
	h.order(otherA, true, 1)
	if _, ok := h.s.Buried(testClient); ok {
		t.Error("both evictions are withdrawn, and the client is refused")
	}
}

// TestObeyedIsWithdrawn: CH-A8, CH-62: a master evicts a client. Meanwhile another master evicts the client for a
// later choice, and the first one obeys. Then other servers name a still later choice. The first master withdraws
// its own eviction all the same: other servers may have made it, and a withdrawal by the other master does not
// cancel it. It does so even if they name the choice of the other master itself, which may still withdraw its
// eviction. If no server names a later choice, the first master withdraws nothing.
func TestObeyedIsWithdrawn(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-A8")
	for epoch, want := range map[uint32]string{3: "broadcast1", 2: "broadcast1", 1: ""} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		h.order(otherA, false, 2)
		h.wantState("none")
		reply := wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: epoch, Incarnation: 5, Master: map[bool]nid.NID{true: otherA, false: otherB}[epoch == 2]}}}
		h.done(reply, gone)
		h.want(want)
		if want != "" {
			h.wantWithdrawn(0)
		}
		if incarnation, ok := h.s.Buried(testClient); !ok || incarnation != 5 {
			t.Errorf("the other master's eviction: %d, %v", incarnation, ok)
		}
	}
}

// TestWithdrawnThoughConnectedAgain: CH-A8, CH-63: a master that evicts a client makes another master's eviction of it, which is then
// withdrawn. The client connects again, with a later choice, before the master's own eviction has arrived at all servers. The
// master withdraws its eviction all the same: a server that gets it late must not refuse the client.
func TestWithdrawnThoughConnectedAgain(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-63")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.wanted(otherA, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 2})})
	h.wantState("none")
	h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 2})})
	h.connect(5, otherB, 3)
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 3, Incarnation: 5, Master: otherB}}}, gone)
	h.want("broadcast1")
	h.wantState("connected 5 10.0.0.3@tcp/3")
}

// TestBatchEndsItsOwnEviction: CH-28, CH-A8: a master begins to evict a client. Another master's eviction ends the
// connection, and is withdrawn. The client connects again, and the first master begins to evict it for the second time.
// The end of the first batch does not end the second eviction, whose batch is under way. If other servers then name a
// later choice of a master, the client stays.
func TestBatchEndsItsOwnEviction(t *testing.T) {
	spec.Covers(t, "CH-28", "CH-A8")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	first := h.batch
	h.order(otherA, false, 2)
	h.order(otherA, true, 2)
	h.connect(5, me, 3)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	second := h.batch
	h.batch = first
	h.done(wire.Reply{Evicted: 1}, gone)
	h.want("")
	h.wantState("evicting 5 10.0.0.1@tcp/3")
	h.batch = second
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 4, Incarnation: 5, Master: otherB}}}, gone)
	h.wantState("connected 5 10.0.0.3@tcp/4")
}

// TestWithdrawalsAreBounded: CH-A8: a server remembers four withdrawals by each server, those of the latest choices,
// in whichever order they arrive. If one is for any choice (epoch 0), it remembers only that one.
func TestWithdrawalsAreBounded(t *testing.T) {
	spec.Covers(t, "CH-A8")
	var w withdrawals
	w.add(1, 1)
	for _, epoch := range []uint32{5, 3, 3, 1, 4, 2, 6} {
		w.add(2, epoch)
	}
	if want := []withdrawal{{1, 1}, {2, 5}, {2, 3}, {2, 4}, {2, 6}}; !slices.Equal(w.by, want) {
		t.Errorf("%v, want %v", w.by, want)
	}
	w.add(2, 0)
	w.add(2, 7)
	if want := []withdrawal{{1, 1}, {2, 0}}; !slices.Equal(w.by, want) {
		t.Errorf("%v, want %v", w.by, want)
	}
}
