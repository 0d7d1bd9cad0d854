package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestDoubtDuringWithdrawal: CH-33: a client is connected here with a later choice of a master, and most servers have a
// tombstone for an earlier choice. A withdrawal that may end these tombstones reaches this server before it reaches the
// others. This server counts no tombstone that is reported within T_evict of the withdrawal: it asks again after that.
func TestDoubtDuringWithdrawal(t *testing.T) {
	spec.Covers(t, "CH-33")
	const here = "connected 5 10.0.0.1@tcp/5"
	for _, name := range []string{"before the first report", "before the answers", "before the question", "of each server", "after one answer"} {
		h := three(t)
		h.connect(5, me, 5)
		if name == "before the first report" {
			h.order(otherB, true, 3)
		}
		h.askTombstones(otherA, 31)
		age := time.Minute
		if name == "before the question" {
			age = h.s.cfg.Evict - h.s.cfg.Tick // the question waits until the tombstone is T_evict old
		}
		h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence, tombstoneOf(1, age))
		if name == "before the question" {
			h.order(otherB, true, 3)
			h.advance(h.s.cfg.Tick)
		}
		h.advance(h.s.cfg.Tick + 1)
		asked := h.effects
		if name == "after one answer" {
			h.tellAsked(otherA)
			h.order(otherB, true, 3)
			asked = nil
		}
		if name == "before the answers" || name == "of each server" {
			h.order(otherB, true, 3)
		}
		if name == "of each server" {
			h.order(otherA, true, 2)
		}
		h.effects = asked
		h.tellAsked(otherA, otherB)
		h.wantState(here)
		for range 3 {
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 5})
			h.advance(h.s.cfg.Evict / 4)
			if name != "after one answer" { // the other servers answer only what is asked T_evict later
				h.tellAsked(otherA, otherB)
			}
			h.wantState(here)
		}
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 5})
		for range 8 { // the others still have the tombstone
			h.advance(h.s.cfg.Tick)
			h.tellAsked(otherA, otherB)
		}
		if h.state() == here {
			t.Errorf("withdrawn %s: most servers still have the tombstone, and the client stays", name)
		}
	}
}

// TestDecisionOutlastsCopies: CH-33, CH-A9: copies of a withdrawal neither delay nor change a server's decision about a
// client. The client is connected here by its choice 5 of a master, and most servers have a tombstone of its
// incarnation from an earlier choice. Another server withdraws its eviction for choice 3 or 4. So this server asks the
// others for their tombstones once more, and ends the connection because most still have one. Meanwhile the withdrawal
// arrives again and again, as it does while some server has not answered it.
func TestDecisionOutlastsCopies(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A9")
	for _, first := range [][]uint32{{3}, {3, 4}, {4}} { // in the last row the withdrawal for choice 3 is late as well
		h := three(t)
		h.connect(5, otherB, 5)
		for _, epoch := range first {
			h.order(otherB, true, epoch)
		}
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Evict - h.s.cfg.Tick)
		for range 6 {
			h.advance(h.s.cfg.Tick)
			h.order(otherB, true, 3)
			h.advance(h.s.cfg.Tick)
			h.tellAsked(otherA, otherB)
		}
		h.wantState("none")
		h.order(otherB, true, 3)
		if got := word5(h, wire.Connect, 5); got != "reject:global" {
			t.Errorf("withdrawn first: %d; after a copy of the withdrawal the client connects: %q", first, got)
		}
	}
}
