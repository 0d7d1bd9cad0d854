package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// withdraws returns a master that has withdrawn its eviction of the test's client, because a server names a later master.
// All servers but the dead one have answered the withdrawal.
func withdraws(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherB}}}, gone)
	h.want("save rehomed notice:other-master(10.0.0.3@tcp) broadcast1")
	h.wantWithdrawn(3)
	h.done(wire.Reply{}, gone)
	return h
}

// TestWithdrawalRemembered: CH-A8, CH-33: a master has withdrawn its eviction of a client, and the client disconnects from
// this master only. When another server reports the tombstone of that eviction, the master ignores it, because it
// remembers the withdrawal. So the client can connect again.
func TestWithdrawalRemembered(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	h := withdraws(t)
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 10})
	h.wantState("none")
	h.advance(h.s.cfg.Tick)
	h.mute = true
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
	h.tellTombstones(gone, h.last(wire.Tombstones).Sequence, tombstoneOf(1, time.Second))
	h.want("")
	h.advance(h.s.cfg.lastWord())
	if got := word5(h, wire.Connect, 2); got != "save connected accept" {
		t.Errorf("the client connects again: %q", got)
	}
}

// TestWithdrawalForTheDead: CH-A9, CH-33: a server that counts as dead may only be stopped, or may hear the others
// without being heard. When it comes back, it gets a withdrawal that it has missed, unless the tombstones have
// expired by then. Once the server has been dead for T_q, the withdrawal does not count as a broadcast under way.
func TestWithdrawalForTheDead(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A9")
	for _, back := range []struct {
		after time.Duration
		gets  bool
	}{{time.Second, true}, {time.Minute, true}, {9 * time.Minute, true}, {11 * time.Minute, false}} {
		h := withdraws(t)
		h.mute = true
		if n := h.s.Status().Batches; n != 1 {
			t.Errorf("%d broadcasts are under way at first", n)
		}
		h.advance(back.after)
		if n := h.s.Status().Batches; n != 0 && back.after >= time.Minute {
			t.Errorf("%d broadcasts are under way after %v", n, back.after)
		}
		h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
		for k := range h.effects {
			if word(h, &h.effects[k]) == "broadcast1" {
				back.gets = !back.gets
				h.wantWithdrawn(k)
			}
		}
		if back.gets {
			t.Errorf("back after %v: %q", back.after, h.words())
		}
	}
}

// TestOwedWithdrawalsBounded: a master keeps only the latest withdrawals for a dead server, up to
// Config.MaxClients evictions in all.
func TestOwedWithdrawalsBounded(t *testing.T) {
	h := withdraws(t)
	h.s.cfg.MaxClients = 1
	h.advance(h.s.cfg.Quorum + h.s.cfg.Tick)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 3, Server: me, Sequence: 10})
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 4, Incarnation: 5, Master: otherB}}}, gone)
	h.done(wire.Reply{}, gone)
	h.advance(h.s.cfg.Quorum + 2*h.s.cfg.Tick)
	if n := h.s.Stats().Unowed; n != 1 {
		t.Errorf("%d withdrawals forgotten, not 1", n)
	}
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
	h.want("broadcast1")
	if b, err := wire.ParseBatch(h.effects[0].Token.([]byte)); err != nil || !b.Withdraw || b.Entries.At(0).Epoch != 3 {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestWithdrawalOfNoChoice: CH-20, CH-33: another server has reported the tombstone of an orphan, which names no
// choice of a master. The late withdrawal of an earlier eviction of the same incarnation does not remove that
// tombstone.
func TestWithdrawalOfNoChoice(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	for epoch, want := range map[uint32]string{0: "answer", 1: "unbury answer", 2: "answer"} {
		h, ask := cutOffFor(t, time.Minute)
		h.tellTombstones(otherB, ask.Sequence, tombstoneOf(epoch, 10*time.Second))
		h.want("bury")
		h.batchFrom(otherA, true)
		if got := h.words(); got != want {
			t.Errorf("a tombstone of epoch %d: %q, want %q", epoch, got, want)
		}
	}
}

// TestWithdrawalNotMadeYoung: CH-A9, CH-30: a master that has lost the quorum and won it again sends once more the
// withdrawals that it keeps for dead servers. That does not prolong the time for which it keeps them.
func TestWithdrawalNotMadeYoung(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-A9")
	for losses, want := range map[int]bool{1: true, 2: false} {
		h := withdraws(t)
		h.mute = true
		for range losses {
			h.advance(8 * time.Minute)
			h.message(nid.ProcessID{NID: host.NID, PID: 77}, wire.Message{Kind: wire.Connect, Client: wire.ClientID{7}, Incarnation: 5, Server: otherA, Epoch: 1, Sequence: 9})
			h.step(ServerInput{Kind: QuorumIs})
			h.advance(h.s.cfg.Quorum + time.Second)
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
			h.advance((maxAsks + 2) * h.s.cfg.Tick)
			h.done(wire.Reply{}, gone)
		}
		h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
		got := false
		for k := range h.effects {
			got = got || word(h, &h.effects[k]) == "broadcast1"
		}
		if got != want {
			t.Errorf("%d losses of the quorum, 8 min before each: the dead server that is back gets the withdrawal: %v", losses, got)
		}
	}
}

// TestGivenUpLatest: CH-30, CH-33: a master that loses the quorum remembers at most Config.MaxClients evictions
// and withdrawals. It prefers an eviction that it has just sent to a withdrawal that a dead server has not
// answered for a long time.
func TestGivenUpLatest(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-33")
	h := withdraws(t)
	h.advance(30 * time.Second)
	other := wire.ClientID{7}
	h.message(nid.ProcessID{NID: nid.MustParse("10.1.0.2@tcp"), PID: 77}, wire.Message{Kind: wire.Connect, Client: other, Incarnation: 5, Server: me, Epoch: 1, Sequence: 9})
	h.s.cfg.MaxClients = 1
	h.step(ServerInput{Kind: EvictClient, Client: other})
	h.want("suspended result:ok broadcast1")
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum + time.Second)
	if h.s.evictions.given[clientIncarnation{other, 5}] == nil || len(h.s.evictions.given) != 1 {
		t.Errorf("%+v", h.s.evictions.given)
	}
}

// TestGivenUpWithoutRoom: CH-33: a master keeps a withdrawal for a dead server when it gives up its evictions because it is cut
// off. If there is no room for the withdrawal, the master counts it in Unowed.
func TestGivenUpWithoutRoom(t *testing.T) {
	spec.Covers(t, "CH-33")
	for _, room := range []int{1, 2} {
		h := withdraws(t)
		h.advance(30 * time.Second)
		other := wire.ClientID{7}
		h.message(nid.ProcessID{NID: nid.MustParse("10.1.0.2@tcp"), PID: 77}, wire.Message{Kind: wire.Connect, Client: other, Incarnation: 5, Server: me, Epoch: 1, Sequence: 9})
		h.s.cfg.MaxClients = room
		h.step(ServerInput{Kind: EvictClient, Client: other})
		h.step(ServerInput{Kind: QuorumIs})
		h.advance(h.s.cfg.Quorum + time.Second)
		if got, want := h.s.Stats().Unowed, uint64(2-room); got != want || len(h.s.evictions.given) != room {
			t.Errorf("room for %d clients: it has given up evictions of %d clients, and counts %d withdrawals, want %d", room, len(h.s.evictions.given), got, want)
		}
	}
}
