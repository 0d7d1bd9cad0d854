package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// order6 delivers the eviction of incarnation 6, or its withdrawal, by otherB. Incarnation 6 is that of another node,
// which uses the client's id.
func (h *harness) order6(withdraw bool) {
	h.t.Helper()
	h.wanted(otherB, wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: 6, Mark: uint8(wire.TimedOut), Epoch: 1})})
}

// TestEachIncarnationByItself: CH-65, CH-33, CH-A20: another node connects to other servers with the client's id, in a
// later incarnation, and is evicted. That eviction is withdrawn, or dropped because this server loses its quorum,
// before or after the client's own incarnation is evicted. This server refuses the client's incarnation in each case,
// even after a restart.
func TestEachIncarnationByItself(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-33", "CH-A20")
	lost := func(h *harness) { h.advance(h.s.cfg.lastWord()); h.order6(false); h.mute = false; h.flap() }
	nothing := func(h *harness) {}
	for name, tt := range map[string]struct{ before, after func(h *harness) }{
		"not evicted":               {nothing, nothing},
		"withdrawn before":          {func(h *harness) { h.order6(false); h.order6(true) }, nothing},
		"only the withdrawal":       {func(h *harness) { h.order6(true) }, nothing},
		"withdrawn after":           {func(h *harness) { h.order6(false) }, func(h *harness) { h.order6(true) }},
		"evicted and withdrawn":     {nothing, func(h *harness) { h.order6(false); h.order6(true) }},
		"dropped with the quorum":   {func(h *harness) { h.order6(false) }, func(h *harness) { h.mute = false; h.flap() }},
		"evicted, then quorum lost": {nothing, lost},
	} {
		for evicted, f := range map[string]func(h *harness){
			"by this server": func(h *harness) {
				h.step(ServerInput{Kind: EvictClient, Client: testClient})
				h.done(wire.Reply{Evicted: 2}, gone)
			},
			"by its master":  func(h *harness) { h.order(otherA, false, 1) },
			"as others tell": func(h *harness) { h.told(tombstoneOf(1, 3*time.Minute)) },
		} {
			if name == "dropped with the quorum" && evicted == "by its master" {
				continue // that eviction is recent as well, so the loss of the quorum drops it, too
			}
			h := newHarness(t, nil)
			h.mute = true
			switch evicted {
			case "by this server":
				h.connect(5, me, 1)
			case "by its master":
				h.connect(5, otherA, 1)
			}
			tt.before(h)
			f(h)
			tt.after(h)
			if n, ok := h.s.Buried(testClient); !ok || n != 5 {
				t.Errorf("evicted %s, the stranger %s: it refuses incarnation %d (%v)", evicted, name, n, ok)
			}
			if got := word5(h, wire.Connect, 1); got != "reject:global" {
				t.Errorf("evicted %s, the stranger %s: the client connects: %q", evicted, name, got)
			}
		}
	}
	h := newHarness(t, nil)
	h.order(otherA, false, 1)
	h.order6(true)
	if list, _ := h.tombstones(); len(list) != 2 || list[0].Withdrawn == list[1].Withdrawn {
		t.Errorf("the list has %+v", list)
	}
	h = newHarness(t, nil) // restored in the order in which they expire
	h.step(ServerInput{Kind: RestoreTombstone, Client: testClient, Incarnation: 6, Epoch: 1, For: 5 * time.Minute})
	h.step(ServerInput{Kind: RestoreTombstone, Client: testClient, Incarnation: 5, For: 6 * time.Minute})
	h.order6(true)
	if n, _ := h.s.Buried(testClient); n != 5 {
		t.Errorf("after a restart it refuses incarnation %d", n)
	}
}

// TestWithdrawnUnderLater: CH-33, CH-A8, CH-A13: a server has a tombstone of a later incarnation with the client's id,
// which counts or is void. It handles withdrawals of evictions of the client's own incarnation, and doubts about that
// incarnation, as it does without the later tombstone.
func TestWithdrawnUnderLater(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8", "CH-A13")
	const here = "connected 5 10.0.0.1@tcp/5"
	for _, void := range []bool{false, true} {
		later := func(h *harness) {
			if h.order6(false); void {
				h.order6(true)
			}
		}
		h := three(t)
		h.connect(5, me, 5)
		later(h)
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Tick + 1)
		asked := h.effects
		h.order(otherA, true, 1) // the answers on their way are older
		h.effects = asked
		h.tellAsked(otherA, otherB)
		h.wantState(here)
		h = three(t)
		h.connect(5, me, 5)
		later(h)
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Tick + 1)
		if h.tellAsked(otherA, otherB); h.state() == here {
			t.Errorf("void %v: most servers have evicted the client, and it stays", void)
		}
		h = newHarness(t, nil)
		h.connect(5, otherA, 1)
		later(h)
		h.order(otherA, true, 1)
		h.order(otherA, false, 1) // a late copy
		h.wantState("connected 5 10.0.0.2@tcp/1")
		if !void {
			continue
		}
		h = newHarness(t, nil)
		h.order(otherA, false, 1)
		later(h)
		if got := word5(h, wire.Connect, 2); got != "reject:busy" {
			t.Errorf("a later choice while the eviction may be withdrawn: %q", got)
		}
	}
}

// TestEarlierExpires: CH-65: the tombstone of an earlier incarnation expires at its own time, whatever happens to later ones.
func TestEarlierExpires(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := newHarness(t, nil)
	h.mute = true
	h.order4(false)
	h.advance(9 * time.Minute)
	h.order(otherA, true, 1)
	h.advance(time.Minute)
	if n, ok := h.s.Buried(testClient); ok || h.s.Status().Tombstones != 1 {
		t.Errorf("after ten minutes it refuses incarnation %d", n)
	}
	h.advance(9*time.Minute + time.Second)
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
	h.order6(true) // the later one expires first
	h.advance(time.Minute)
	h.order(otherA, false, 1)
	h.advance(9*time.Minute + time.Second)
	if n, _ := h.s.Buried(testClient); n != 5 {
		t.Errorf("it refuses incarnation %d", n)
	}
	h.advance(time.Minute)
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left in the end", n)
	}
}

// TestEvictedIncarnationsAreBounded: CH-65: a server keeps a few tombstones of a client that refuse their incarnations, and
// a few of withdrawn evictions. It drops those of the earliest incarnations.
func TestEvictedIncarnationsAreBounded(t *testing.T) {
	spec.Covers(t, "CH-65")
	var g tombstones
	g.init(10)
	incarnation := func(n uint64, void bool) {
		e := wire.Entry{Client: testClient, Incarnation: n, Epoch: 1}
		if g.add(testClient, tombstone{incarnation: n, until: time.Duration(n), void: void}, nid.NID{}, 0); void {
			g.takes(&e, 1)
			g.voided(&e, 1)
		}
	}
	want := func(list ...uint64) {
		t.Helper()
		var got []uint64
		for _, b := range g.list(testClient) {
			got = append(got, b.incarnation)
		}
		if !slices.Equal(got, list) {
			t.Errorf("tombstones of %d, want %d", got, list)
		}
	}
	incarnation(5, false)
	incarnation(7, true)
	incarnation(6, true)
	incarnation(8, false)
	want(8, 7, 6, 5)
	incarnation(9, false)
	incarnation(10, false)
	want(10, 9, 8, 7, 6)
	incarnation(11, true)
	want(11, 10, 9, 8, 7)
	incarnation(7, false) // evicted again
	want(11, 10, 9, 8)
	incarnation(12, true)
	incarnation(10, true) // earlier than the void ones that stay
	want(12, 11, 9, 8)
}

// evictedAs delivers the evictions of further incarnations of the client, by otherB.
func (h *harness) evictedAs(incarnations ...uint64) {
	h.t.Helper()
	for _, n := range incarnations {
		h.wanted(otherB, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: n, Mark: uint8(wire.Rebooted), Epoch: 1})})
	}
}

// TestRefusedUnderThreeLater: CH-65, CH-A20: three later incarnations of a client were evicted before the client's own, so
// this server has no room for all four tombstones. It refuses that incarnation until ten minutes after its eviction,
// although the other tombstones expire before.
func TestRefusedUnderThreeLater(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A20")
	h := newHarness(t, nil)
	h.mute = true
	h.connect(5, me, 1)
	h.evictedAs(6, 7, 8)
	for end := h.now + 9*time.Minute; h.now < end; h.advance(h.s.cfg.Ping) {
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
	}
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 2}, gone)
	h.wantState("none")
	h.advance(9*time.Minute + 50*time.Second)
	if got := word5(h, wire.Connect, 1); got != "reject:global" {
		t.Errorf("before the tombstone expires: %q", got)
	}
	h.advance(11 * time.Second)
	if got := word5(h, wire.Connect, 1); got != "save connected accept" {
		t.Errorf("after it has expired: %q", got)
	}
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
}

// TestLeftMakeRoom: CH-65, CH-A1: another node connects to this server with the client's id, in later incarnations, and
// leaves each time. These tombstones make room for that of the client's own incarnation, which was evicted.
func TestLeftMakeRoom(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A1")
	h := three(t)
	for n := range uint64(4) {
		h.message(stranger, wire.Message{Kind: wire.Connect, Incarnation: 6 + n, Server: me, Epoch: 1})
		h.message(stranger, wire.Message{Kind: wire.Disconnect, Incarnation: 6 + n})
	}
	h.order(otherA, false, 1)
	if got := h.reported(); !slices.Equal(got, []uint64{5}) {
		t.Errorf("it reports incarnations %d", got)
	}
	if n, _ := h.s.Buried(testClient); n != 9 {
		t.Errorf("it refuses incarnation %d", n)
	}
}

// TestWithdrawalDisplacesNone: CH-65: this server gets the withdrawal of an eviction that it does not know. The tombstone that
// remembers it does not displace those that refuse other incarnations.
func TestWithdrawalDisplacesNone(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := three(t)
	h.evictedAs(6, 7, 8)
	h.wanted(otherB, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 9, Epoch: 1})})
	if got := h.reported(); !slices.Equal(got, []uint64{6, 7, 8}) {
		t.Errorf("it reports incarnations %d", got)
	}
}
