package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestEvictBuriesWhatWasNamed: CH-A20, CH-65: a server has a connection of a client, and gets the
// eviction of a later incarnation, which never connected to it. If a connect of that incarnation
// arrives late, the server refuses it.
func TestEvictBuriesWhatWasNamed(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A20")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	if r := h.evicted(otherA, 6); r.Evicted != 1 {
		t.Fatalf("%+v", r)
	}
	h.connect(6, otherA, 1)
	h.want("reject:global")
	h.connect(7, otherA, 1)
	h.want("save connected accept")
}

// TestEvictionOfReturned: CH-62, CH-A8: a client chose another master, and then this server
// again. The eviction by this server succeeds, although one server has only the earlier choice, that of
// the other master, on record.
func TestEvictionOfReturned(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-A8")
	h := newHarness(t, nil)
	h.connect(5, me, 3)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA}}}, gone)
	h.want("notice:global evicted:by-admin bury")
}

// TestLateEvictionOfEarlierChoice: CH-A1, CH-A2, goal G-CH-3: a client has chosen another master, and
// then its first master again. An eviction that this master sent before arrives late. It names the
// same incarnation and the same master, but an earlier choice, so the client stays.
func TestLateEvictionOfEarlierChoice(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-A2", "G-CH-3")
	late := func(h *harness, epoch uint32) wire.Reply {
		h.step(ServerInput{Kind: EvictArrived, Server: otherA, Data: (&wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: epoch})}).AppendTo(nil)})
		r, err := wire.ParseReply(h.effects[len(h.effects)-1].Token.([]byte))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB})
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 3, Server: otherA})
	r := late(h, 1)
	if len(r.Exceptions) != 1 || r.Exceptions[0].Code != wire.OtherMaster || r.Exceptions[0].Epoch != 3 || r.Exceptions[0].Master != otherA {
		t.Errorf("%+v", r)
	}
	h.wantState("connected 5 10.0.0.2@tcp/3")
	if r := late(h, 3); r.Evicted != 1 {
		t.Errorf("%+v", r)
	}
	h = newHarness(t, nil) // epochs of different incarnations cannot be compared
	h.connect(4, otherA, 7)
	if r := late(h, 1); r.Evicted != 1 {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct {
		carried, epoch uint32
		before         bool
	}{{0, 9, false}, {9, 9, false}, {9, 10, true}, {10, 9, false}, {1<<24 - 1, 1 << 24, true}, {1, 1 << 24, false}, {5, 1<<24 + 6, true}} {
		if e := (wire.Entry{Epoch: tt.carried}); e.Before(tt.epoch) != tt.before {
			t.Errorf("%d before %d: %v", tt.carried, tt.epoch, !tt.before)
		}
	}
}

// TestTwoMastersEvict: CH-63: two servers both believe that they are a client's master, and both
// evict it at once. Each names itself as the master in its answer to the other's eviction. The
// client is evicted all the same.
func TestTwoMastersEvict(t *testing.T) {
	spec.Covers(t, "CH-29", "CH-63")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	if r := h.evicted(otherA, 5); len(r.Exceptions) != 1 || r.Exceptions[0].Master != me { // the answer names the client's other master (CH-29)
		t.Fatalf("%+v", r)
	}
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA}}}, gone)
	h.want("notice:global evicted:by-admin bury")
}

// TestThreeMastersEvict: CH-63: three servers, of which each considers itself a client's master, evict the client by order
// of an administrator. The client chose otherA last. In whatever order the evictions by otherA and otherB arrive here, this
// server does not keep the client as one of otherA. It keeps the client if otherA does not evict it.
func TestThreeMastersEvict(t *testing.T) {
	spec.Covers(t, "CH-63")
	choice := map[nid.NID]uint32{otherA: 3, otherB: 2, gone: 0} // the eviction of gone, which has an older version, names no choice
	for _, order := range [][]nid.NID{{otherA, otherB}, {otherB, otherA}, {otherA, otherB, otherA, otherB}, {gone, otherA, otherB}, {otherB}} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		for _, from := range order {
			h.evictedBy(from, 5, choice[from])
		}
		h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 3, Incarnation: 5, Master: otherA}}}, gone)
		if slices.Contains(order, otherA) {
			h.want("notice:global evicted:by-admin bury")
		} else {
			h.wantState("connected 5 10.0.0.2@tcp/3")
		}
		if n := len(h.s.evictions.rivals); n != 0 {
			t.Errorf("%d rivals are left", n)
		}
	}
}

// TestRivalsInAnyOrder: CH-63: this server evicts a client, and the answers of others name otherA as the client's later
// master. This server then keeps the client as one of otherA, unless otherA evicts it for that choice of a master, too. The
// order of the evictions does not matter. An eviction by otherA does not count if it was withdrawn, if it is for an earlier
// choice, or if it arrived before this server's own and names no choice.
func TestRivalsInAnyOrder(t *testing.T) {
	spec.Covers(t, "CH-63")
	const stays = "connected 5 10.0.0.2@tcp/3"
	own := func(h *harness) { h.step(ServerInput{Kind: EvictClient, Client: testClient}) }
	by := func(from nid.NID, epoch uint32) func(*harness) {
		return func(h *harness) { h.evictedBy(from, 5, epoch) }
	}
	withdrawn := func(epoch uint32) func(*harness) {
		return func(h *harness) {
			h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: epoch})})
		}
	}
	for name, tt := range map[string]struct {
		order []func(*harness)
		want  string
	}{
		"before this server's own":           {[]func(*harness){by(otherA, 3), own}, "none"},
		"a later one names no choice":        {[]func(*harness){own, by(otherA, 3), by(gone, 0)}, "none"},
		"an earlier one names no choice":     {[]func(*harness){own, by(gone, 0), by(otherA, 3)}, "none"},
		"a copy names no choice":             {[]func(*harness){own, by(otherA, 3), by(otherA, 0)}, "none"},
		"one before names no choice":         {[]func(*harness){by(otherA, 0), own}, stays},
		"only others evict it":               {[]func(*harness){by(otherB, 2), own, by(gone, 0)}, stays},
		"withdrawn":                          {[]func(*harness){own, by(otherA, 3), withdrawn(3)}, stays},
		"withdrawn before this server's own": {[]func(*harness){by(otherA, 3), withdrawn(3), own}, stays},
		"a copy of a withdrawn one":          {[]func(*harness){own, by(otherA, 3), withdrawn(3), by(otherA, 3)}, stays},
		"for an earlier choice":              {[]func(*harness){own, by(otherA, 2)}, stays},
		"another one for an earlier choice":  {[]func(*harness){own, by(otherA, 2), by(otherA, 3)}, "none"},
	} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		for _, step := range tt.order {
			step(h)
		}
		h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 3, Incarnation: 5, Master: otherA}}}, gone)
		if got := h.state(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if n := len(h.s.evictions.rivals); n != 0 {
			t.Errorf("%s: %d rivals are left", name, n)
		}
	}
}

// TestRetryAddsUp: CH-28: a server that has answered a broadcast need not answer its repetition.
// So retries come to an end even if some answers are lost each time.
func TestRetryAddsUp(t *testing.T) {
	spec.Covers(t, "CH-28")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{}, otherA, gone)
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	h.done(wire.Reply{}, otherB, gone)
	h.want("notice:global evicted:by-admin bury")
	h.advance(h.s.cfg.Tick)
	h.want("")
	if n := h.s.Status().Batches; n != 1 {
		t.Errorf("%d batches are owed to the dead server, not 1", n)
	}
}

// TestMuteServer: CH-A21: a server is alive and never answers. New evictions reach the other
// servers nevertheless.
func TestMuteServer(t *testing.T) {
	spec.Covers(t, "CH-A21")
	h := newHarness(t, func(c *ServerConfig) { c.MaxBroadcasts, c.MaxIDs = 2, 10 })
	told := make(map[wire.ClientID]bool)
	flights := make(map[uint64]time.Duration) // the time at which each broadcast ends
	look := func() {
		for _, e := range h.effects {
			if e.Kind == DoBroadcast {
				r, err := wire.ParseBatch(e.Token.([]byte))
				if err != nil {
					t.Fatal(err)
				}
				told[r.Entries.At(0).Client] = true
				flights[e.ID] = h.now + 3*h.s.cfg.Tick
			}
		}
	}
	const clients = 10
	for i := range 3 * clients {
		if id := (wire.ClientID{1, byte(i)}); i%3 == 0 {
			h.message(host, wire.Message{Kind: wire.Connect, Client: id, Incarnation: 1, Server: me})
			h.step(ServerInput{Kind: EvictClient, Client: id})
			look()
		}
		h.advance(h.s.cfg.Tick)
		look()
		for _, id := range slices.Sorted(maps.Keys(flights)) {
			if flights[id] <= h.now {
				delete(flights, id)
				h.step(ServerInput{Kind: BroadcastDone, ID: id, Data: (&wire.Reply{}).AppendTo(nil), Servers: []nid.NID{otherA, gone}})
				look()
			}
		}
	}
	if len(told) != clients {
		t.Errorf("%d of %d evictions were told to anybody", len(told), clients)
	}
}

// TestOrphansCutOff: CH-A6, CH-68: a server without a quorum believes that its clients' masters
// are dead, although the clients can reach them. However long this lasts, the server does not
// evict these clients from all servers.
func TestOrphansCutOff(t *testing.T) {
	spec.Covers(t, "CH-68", "CH-A6")
	for _, unsure := range []bool{false, true} {
		h := newHarness(t, func(c *ServerConfig) { c.Quorum = time.Minute })
		h.connect(5, otherA, 1)
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.step(ServerInput{Kind: QuorumIs, Unsure: unsure})
		h.advance(59 * time.Second)
		if s := h.words(); strings.Contains(s, "global") || strings.Contains(s, "bury") {
			t.Errorf("unsure %v: %q", unsure, s)
		}
		// T_orphan of these clients begins when the server has a quorum again.
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.advance(time.Second)
		h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB})
		h.want("save rehomed chosen")
	}
}
