package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// tellAsked lets the given servers answer the questions among the effects of this server, each with a tombstone of
// testClient for choice 1 of a master.
func (h *harness) tellAsked(servers ...nid.NID) {
	h.t.Helper()
	for _, e := range slices.Clone(h.effects) {
		m, err := wire.ParseMessage(e.Token.([]byte))
		if e.Kind == DoSend && err == nil && m.Kind == wire.Tombstones && slices.Contains(servers, e.To.NID) {
			h.tellTombstones(e.To.NID, m.Sequence, tombstoneOf(1, time.Minute))
		}
	}
}

// TestDoubtOfOther: CH-33: a client is connected here with a later choice of a master, and most servers have a
// tombstone for an earlier choice. Another server withdraws its eviction, for a choice between the two. The
// withdrawal does not decide about the tombstones: this server asks again, T_evict later, and evicts the client if
// most servers still have them. If the eviction for the choice of the tombstones is withdrawn, they no longer count,
// even if the same server also withdraws others.
func TestDoubtOfOther(t *testing.T) {
	spec.Covers(t, "CH-33")
	const here = "connected 5 10.0.0.1@tcp/5"
	for name, tt := range map[string]struct {
		withdrawn []uint32 // choices of the withdrawals
		drops     bool     // the other servers have dropped their tombstones when they are asked again
		stays     bool
	}{
		"not withdrawn":                 {nil, false, false},
		"another eviction is withdrawn": {[]uint32{3}, false, false},
		"all evictions are withdrawn":   {[]uint32{3}, true, true},
		"this eviction is withdrawn":    {[]uint32{1}, false, true},
		"two evictions are withdrawn":   {[]uint32{1, 3}, false, true},
		"and the later one first":       {[]uint32{3, 1}, false, true},
		"this one among many":           {[]uint32{1, 2, 3, 4}, false, true},
	} {
		h := three(t)
		h.connect(5, me, 5)
		h.askTombstones(otherA, 31)
		h.tellAsked(otherA)
		h.advance(h.s.cfg.Tick + 1)
		asked := h.effects
		h.tellAsked(otherA)
		for _, epoch := range tt.withdrawn {
			h.order(otherB, true, epoch)
		}
		h.effects = asked
		h.tellAsked(otherB)
		if tt.withdrawn != nil {
			h.wantState(here)
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 5})
			h.advance(h.s.cfg.Evict - 3*h.s.cfg.Tick)
			h.wantState(here)
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 5})
		}
		for range 6 {
			if h.advance(h.s.cfg.Tick); !tt.drops {
				h.tellAsked(otherA, otherB)
			}
		}
		if (h.state() == here) != tt.stays {
			t.Errorf("%s: the client is %q", name, h.state())
		}
	}
}

// TestOrphanOfOneServer: CH-20, CH-33: a server has made an eviction that is withdrawn, and one other server alone has
// evicted the client as an orphan. The server refuses the client, in whichever order it learns of the withdrawal and of
// the orphan's tombstone. But it does not report that tombstone: the client may live under a later master, which would
// evict it if most servers reported the tombstone. Without the withdrawal, the server reports it.
func TestOrphanOfOneServer(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	orphan := func(h *harness) { h.told(tombstoneOf(0, time.Minute)) }
	for name, tt := range map[string]struct {
		then func(h *harness)
		told int
	}{
		"told first":        {func(h *harness) { orphan(h); h.batchFrom(otherA, true) }, 0},
		"withdrawn first":   {func(h *harness) { h.batchFrom(otherA, true); orphan(h) }, 0},
		"evicted again":     {func(h *harness) { h.batchFrom(otherA, true); orphan(h); h.order(otherB, false, 2) }, 1},
		"nothing withdrawn": {orphan, 1},
	} {
		h := newHarness(t, nil)
		h.mute = true
		if name != "nothing withdrawn" {
			h.batchFrom(otherA, false)
		}
		tt.then(h)
		h.advance(2 * maxAsks * h.s.cfg.Tick)
		h.askTombstones(otherA, 12345)
		if n := h.last(wire.TombstonesReply).Entries.Len(); n != tt.told {
			t.Errorf("%s: it reports %d tombstones", name, n)
		}
		if got := word5(h, wire.Connect, 1); got != "reject:global" {
			t.Errorf("%s: the client connects: %q", name, got)
		}
	}
	h := three(t) // nor does it pass that tombstone on to servers that have asked before
	h.order(otherA, true, 1)
	h.askTombstones(otherA, 31)
	h.askTombstones(otherB, 41)
	h.tellTombstones(otherB, h.last(wire.Tombstones).Sequence, tombstoneOf(0, 0))
	h.want("bury")
}

// TestLeftAndEvicted: CH-A1, CH-65: a client has left this server, which gets an eviction of it by another server. While the
// eviction counts, this server reports the tombstone to others. It no longer does so when the eviction is withdrawn, or
// dropped because this server loses its quorum, but it still refuses the incarnation, even after a restart.
func TestLeftAndEvicted(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-65")
	for name, tt := range map[string]struct {
		then func(h *harness)
		told int
	}{
		"evicted":          {func(h *harness) {}, 1},
		"withdrawn":        {func(h *harness) { h.batchFrom(otherA, true) }, 0},
		"withdrawn twice":  {func(h *harness) { h.batchFrom(otherA, true); h.batchFrom(otherA, true) }, 0},
		"the copy is late": {func(h *harness) { h.batchFrom(otherA, true); h.batchFrom(otherA, false) }, 0},
		"quorum lost": {func(h *harness) {
			h.step(ServerInput{Kind: QuorumIs})
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
		}, 0},
	} {
		h := three(t)
		h.connect(5, me, 1)
		h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5})
		h.batchFrom(otherA, false)
		tt.then(h)
		if n := len(h.reported()); n != tt.told {
			t.Errorf("%s: it reports %d tombstones, want %d", name, n, tt.told)
		}
		h.connect(5, me, 1)
		if r := h.last(wire.Reject); r.Code != wire.Global {
			t.Errorf("%s: %+v", name, r)
		}
	}
	h := three(t)
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5})
	h.batchFrom(otherA, false)
	h.batchFrom(otherA, true)
	h.want("unbury bury answer")
	if got := word5(h.restarted(), wire.Connect, 2); got != "reject:global" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestLeftAndEvictedElsewhere: CH-A1, CH-33, CH-65: a client has left this server, which was cut off when others evicted the client, and
// learns of that eviction by asking. It reports the tombstone to others, so that most servers decide, until the eviction
// is withdrawn or dropped because this server loses its quorum. It goes on refusing the incarnation until the tombstone expires.
func TestLeftAndEvictedElsewhere(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-33", "CH-65")
	for name, tt := range map[string]struct {
		epoch uint32
		then  func(h *harness)
		told  int
	}{
		"evicted":               {3, func(h *harness) {}, 1},
		"withdrawn":             {3, func(h *harness) { h.order(otherA, true, 3) }, 0},
		"withdrawn before":      {3, func(h *harness) { h.order(otherA, true, 3); h.told(tombstoneOf(3, time.Minute)) }, 0},
		"quorum lost":           {3, (*harness).flap, 0},
		"an orphan":             {0, func(h *harness) {}, 1},
		"an orphan and evicted": {0, func(h *harness) { h.order(otherA, false, 3); h.flap() }, 1},
	} {
		h := three(t)
		h.connect(5, me, 1)
		h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5})
		h.advance(time.Minute)
		age := 10 * time.Second
		if tt.epoch == 0 {
			age = 80 * time.Second // it is final
		}
		h.told(tombstoneOf(tt.epoch, age))
		tt.then(h)
		if n := len(h.reported()); n != tt.told {
			t.Errorf("%s: it reports %d tombstones, want %d", name, n, tt.told)
		}
		if got := word5(h, wire.Connect, 4); got != "reject:global" && got != "reject:busy" {
			t.Errorf("%s: %q", name, got)
		}
		h.advance(10 * time.Minute)
		if n := h.s.Status().Tombstones; n != 0 {
			t.Errorf("%s: after ten minutes there are %d tombstones", name, n)
		}
	}
}

// TestOrphanKeepsItsAge: CH-20, CH-33: other servers have reported the tombstone of an orphan, before or after this server got an
// order to evict the client. The order is dropped because this server loses its quorum. The tombstone of the orphan is
// then as old as it was reported: this server reports it with that age, and it expires in time, here and in the store.
func TestOrphanKeepsItsAge(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	for name, begin := range map[string]func(h *harness){
		"told before": func(h *harness) { h.told(tombstoneOf(0, 8*time.Minute)); h.batchFrom(otherA, false) },
		"told after":  func(h *harness) { h.batchFrom(otherA, false); h.told(tombstoneOf(0, 8*time.Minute)) },
	} {
		h := newHarness(t, nil)
		h.mute = true
		begin(h)
		h.step(ServerInput{Kind: QuorumIs})
		h.want("unbury bury quorum-lost")
		if d := h.effects[1].For; d > 2*time.Minute {
			t.Errorf("%s: in the store it lasts for %v", name, d)
		}
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.advance(2 * maxAsks * h.s.cfg.Tick)
		h.message(nid.ProcessID{NID: otherB, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: 9, Retry: time.Hour})
		list := h.last(wire.TombstonesReply).Entries
		if list.Len() != 1 || list.At(0).Mark > 51 {
			t.Errorf("%s: it reports %+v", name, list)
		}
		h.advance(2 * time.Minute)
		if n := h.s.Status().Tombstones; n != 0 {
			t.Errorf("%s: %d tombstones are left", name, n)
		}
	}
}

// TestOrphanMakesRoom: CH-20, CH-33: this server has no room for more tombstones while one of them refers to an older one of the
// same incarnation, as in TestOrphanKeepsItsAge. The older one is the first to make room, and no tombstone outlives its time.
func TestOrphanMakesRoom(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	h := newHarness(t, func(cfg *ServerConfig) { cfg.MaxTombstones = 4 })
	h.mute = true
	evict := func(first, count byte) {
		for n := range count {
			h.wanted(otherB, wire.Batch{Entries: entries(wire.Entry{Client: wire.ClientID{first + n}, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 1})})
		}
	}
	evict(100, 4)
	h.advance(h.s.cfg.Tick)
	h.batchFrom(otherA, false)
	h.told(tombstoneOf(0, 8*time.Minute))
	evict(104, 1)
	h.step(ServerInput{Kind: QuorumIs})
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.advance(2 * h.s.cfg.tombstone())
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
}
