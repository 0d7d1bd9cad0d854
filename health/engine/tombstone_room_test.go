package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// fullOf returns ways in which a server gets as many tombstones of earlier incarnations of the client as it keeps.
func fullOf() map[string]func(h *harness) {
	return map[string]func(h *harness){
		"left": func(h *harness) {
			for n := range uint64(3) {
				h.connect(2+n, otherA, 1)
				h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 2 + n})
			}
		},
		"evicted": func(h *harness) { h.evictedAs(2, 3, 4) },
	}
}

// strangers has two later incarnations of the client evicted, and both evictions withdrawn, as happens if another node
// connects to other servers with the client's id.
func (h *harness) strangers() {
	h.t.Helper()
	for _, n := range []uint64{6, 7} {
		for _, withdraw := range []bool{false, true} {
			h.wanted(otherB, wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: n, Mark: uint8(wire.Rebooted), Epoch: 1})})
		}
	}
}

// TestWithdrawalAfterTwoOfStrangers: CH-65, CH-A8: the evictions of two later incarnations of the client were withdrawn. This
// server does not obey a late copy of an eviction of the client's own incarnation, which was withdrawn as well, whether it
// heard of the eviction before the withdrawal or not, and whichever evictions were withdrawn first.
func TestWithdrawalAfterTwoOfStrangers(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A8")
	heard := func(h *harness) { h.order(otherA, false, 1); h.order(otherA, true, 1) }
	connected := func(h *harness) { h.connect(5, otherA, 1) }
	earlier := func(h *harness) { h.connect(4, otherA, 1) }
	for name, happens := range map[string][]func(h *harness){
		"not heard":            {connected, (*harness).strangers, func(h *harness) { h.order(otherA, true, 1) }},
		"heard":                {connected, (*harness).strangers, heard, connected},
		"the own one first":    {connected, heard, (*harness).strangers, connected},
		"and a further one":    {connected, (*harness).strangers, heard, connected, func(h *harness) { h.evictedAs(8) }},
		"connected in between": {connected, heard, connected, (*harness).strangers},
		"on its way":           {earlier, heard, (*harness).strangers, connected}, // the eviction comes before the connect of the incarnation
	} {
		h := newHarness(t, nil)
		for _, f := range happens {
			f(h)
		}
		before := h.state()
		h.order(otherA, false, 1) // a late copy
		if got := h.state(); got != before || got == "none" {
			t.Errorf("%s: the client is %q, and after a copy of a withdrawn eviction %q", name, before, got)
		}
	}
}

// TestWithdrawalInLargeTable: CH-65: the withdrawal of an eviction that has ended a connection here is kept although two later
// incarnations of the client were evicted elsewhere, and their evictions withdrawn, even if there are so many tombstones that
// the server does not keep names any more.
func TestWithdrawalInLargeTable(t *testing.T) {
	spec.Covers(t, "CH-65")
	var g tombstones
	g.init(2 * maxKnown)
	for i := range maxKnown {
		g.bury(wire.ClientID{1, byte(i), byte(i >> 8), byte(i >> 16)}, 1, time.Minute, nid.NID{}, 0)
	}
	withdrawn := func(n uint64) {
		e := wire.Entry{Client: testClient, Incarnation: n, Epoch: 1}
		g.add(testClient, tombstone{incarnation: n, until: time.Minute, void: true}, nid.NID{}, 0)
		g.takes(&e, 1)
		g.voided(&e, 1)
	}
	g.bury(testClient, 5, time.Minute, host.NID, 0)
	g.know(&conn{id: testClient, incarnation: 5, peer: host}, 5, wire.TimedOut)
	withdrawn(7)
	withdrawn(6)
	withdrawn(5)
	if b, ok := g.of(testClient, 5); !ok || !b.void || b.known != nil {
		t.Errorf("the tombstone of the incarnation that was connected: %+v (%v)", b, ok)
	}
}

// TestWithdrawalAfterThreeEvictions: CH-65, CH-33, CH-A8: three earlier incarnations of a client have left or were evicted in
// the last ten minutes. This server remembers that the eviction of the present one was withdrawn: it does not obey a late
// copy of that eviction, nor count answers of other servers that were on their way.
func TestWithdrawalAfterThreeEvictions(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-33", "CH-A8")
	for name, fill := range fullOf() {
		h := newHarness(t, nil)
		fill(h)
		h.connect(5, otherA, 1)
		h.order(otherA, true, 1)
		h.order(otherA, false, 1) // a late copy
		if got := h.state(); got != "connected 5 10.0.0.2@tcp/1" {
			t.Errorf("%s: after a copy of a withdrawn eviction the client is %q", name, got)
		}
		h = three(t)
		fill(h)
		h.connect(5, me, 5)
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Tick + 1)
		asked := h.effects
		h.order(otherA, true, 1) // the answers on their way are older
		h.effects = asked
		h.tellAsked(otherA, otherB)
		if got := h.state(); got != "connected 5 10.0.0.1@tcp/5" {
			t.Errorf("%s: after answers that are older than the withdrawal the client is %q", name, got)
		}
	}
}

// TestDecisionOutlastsCopiesAfterThree: CH-33, CH-A9: what TestDecisionOutlastsCopies shows holds for a client that was evicted three times before.
func TestDecisionOutlastsCopiesAfterThree(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A9")
	for name, fill := range fullOf() {
		h := three(t)
		fill(h)
		h.connect(5, otherB, 5)
		h.order(otherB, true, 3)
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Evict - h.s.cfg.Tick)
		for range 6 {
			h.advance(h.s.cfg.Tick)
			h.order(otherB, true, 3)
			h.advance(h.s.cfg.Tick)
			h.tellAsked(otherA, otherB)
		}
		if got := h.state(); got != "none" {
			t.Errorf("%s: most servers have evicted the client, and it is %q", name, got)
		}
	}
}

// TestEvictedAgainMakesRoom: CH-65: an eviction counts whose withdrawal by another server this server knows. The client then has no more tombstones that
// refuse their incarnations than this server keeps, and all incarnations are still refused.
func TestEvictedAgainMakesRoom(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := three(t)
	h.order(otherB, true, 1)
	h.evictedAs(6, 7, 8)
	h.order(otherA, false, 2)
	if got := h.reported(); !slices.Equal(got, []uint64{6, 7, 8}) {
		t.Errorf("it reports incarnations %d", got)
	}
	if got := word5(h, wire.Connect, 2); got != "reject:global" {
		t.Errorf("the client connects: %q", got)
	}
}

// TestDisplacedIsNotTheNewest: CH-65, CH-33: three later incarnations of the client were evicted nine minutes before the
// client's own. That eviction is withdrawn, or dropped because this server loses its quorum. Then this server accepts the client
// once the other tombstones have expired, and reports none.
func TestDisplacedIsNotTheNewest(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-33")
	for name, drop := range map[string]func(h *harness){
		"withdrawn":   func(h *harness) { h.order(otherA, true, 1); h.want("unbury answer") },
		"quorum lost": func(h *harness) { h.flap() },
	} {
		h := three(t)
		h.evictedAs(6, 7, 8)
		h.advance(9 * time.Minute)
		h.order(otherA, false, 1)
		drop(h)
		h.advance(time.Minute + 2*h.s.cfg.Tick)
		if n, ok := h.s.Buried(testClient); ok {
			t.Errorf("%s: it refuses incarnation %d", name, n)
		}
		if got := word5(h, wire.Connect, 2); got != "save connected accept" {
			t.Errorf("%s: the client connects: %q", name, got)
		}
		if got := h.reported(); len(got) != 0 {
			t.Errorf("%s: it reports incarnations %d", name, got)
		}
	}
}

// TestRefusedWithoutTombstone: CH-65: a later incarnation of the client was evicted nine minutes before the client's own, and two
// earlier ones shortly after it, so this server has no room for the tombstone of the client's own. It refuses that
// incarnation all the same until ten minutes after its eviction.
func TestRefusedWithoutTombstone(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := newHarness(t, nil)
	h.evictedAs(6)
	h.advance(9 * time.Minute)
	h.order(otherA, false, 1)
	h.advance(h.s.cfg.Tick)
	h.evictedAs(3, 4)
	h.advance(9 * time.Minute)
	if got := word5(h, wire.Connect, 1); got != "reject:global" {
		t.Errorf("before the tombstone expires: %q", got)
	}
	h.advance(time.Minute)
	if got := word5(h, wire.Connect, 1); got != "save connected accept" {
		t.Errorf("after it has expired: %q", got)
	}
}
