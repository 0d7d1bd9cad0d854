package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// word5 delivers a Choose or a Connect of incarnation 5, which otherA, its master of epoch 1,
// has evicted. The result is what the server does, in the words of the harness.
func word5(h *harness, kind wire.Kind, epoch uint32) string {
	h.t.Helper()
	h.message(host, wire.Message{Kind: kind, Incarnation: 5, Epoch: epoch, Server: otherB, Sequence: 9})
	return h.words()
}

// evictedByA returns a server that was told to evict the client the given time ago.
func evictedByA(t *testing.T, ago time.Duration) *harness {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.batchFrom(otherA, false)
	h.want("notice:global evicted:timed-out bury answer")
	h.advance(ago)
	return h
}

func (h *harness) batchFrom(from nid.NID, withdraw bool) {
	h.t.Helper()
	b := wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: 1})}
	h.step(ServerInput{Kind: EvictArrived, Server: from, Data: b.AppendTo(nil)})
}

// restarted returns a server that starts with the tombstones that the server of h has stored in its latest step.
func (h *harness) restarted() *harness {
	h.t.Helper()
	again := newHarness(h.t, nil)
	for _, e := range h.effects {
		if e.Kind == DoRemove && e.For > 0 {
			again.step(ServerInput{Kind: RestoreTombstone, Client: e.Client, Incarnation: e.Incarnation, Epoch: e.Epoch, For: e.For - time.Second})
		}
	}
	return again
}

// TestRestoredEviction: CH-33, CH-A13, CH-65: a server that has restarted still knows for which choice of a master an
// eviction was. It reports that to other servers, which may know a later choice. It tells a client that shows a later
// choice to try again. Both also hold for a tombstone that the server has got from another one.
func TestRestoredEviction(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-65", "CH-A13")
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
	for name, bury := range map[string]func(h *harness){
		"connected":     func(h *harness) { h.connect(5, otherA, 1); h.batchFrom(otherA, false) },
		"not connected": func(h *harness) { h.batchFrom(otherA, false) },
		"an earlier incarnation connected": func(h *harness) {
			h.connect(4, otherB, 1)
			h.batchFrom(otherA, false)
		},
		"of another server": func(h *harness) {
			h.out.Reset()
			h.s.out = &h.out
			h.s.buryAlso(wire.Entry{Client: testClient, Incarnation: 5, Epoch: 1, Mark: 255}, 1)
			h.effects = h.out.Effects
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil)
			bury(h)
			again := h.restarted()
			again.message(server, wire.Message{Kind: wire.Tombstones, Sequence: 9, Retry: time.Hour})
			if m := again.last(wire.TombstonesReply); m.Entries.Len() != 1 || m.Entries.At(0).Epoch != 1 {
				t.Errorf("it tells of %+v", m)
			}
			if got := word5(again, wire.Connect, 1); got != "reject:global" {
				t.Errorf("a client with the choice that was ended: %s", got)
			}
			if got := word5(again, wire.Connect, 2); got != "reject:busy" {
				t.Errorf("a client with a later choice: %s", got)
			}
		})
	}
}

// TestRestoredLatestEviction: CH-A13: of several stored tombstones of one incarnation, that of the latest choice of a
// master counts, whichever expires last.
func TestRestoredLatestEviction(t *testing.T) {
	spec.Covers(t, "CH-A13")
	for _, epochs := range [][]uint32{{1, 2}, {2, 1}, {2, 0}, {0, 2}} {
		h := newHarness(t, nil)
		for i, epoch := range epochs {
			h.step(ServerInput{Kind: RestoreTombstone, Client: testClient, Incarnation: 5, Epoch: epoch, For: time.Duration(5+i) * time.Minute})
		}
		if g := h.s.tombstones.incarnations[testClient]; g.epoch != 2 {
			t.Errorf("%v: epoch %d", epochs, g.epoch)
		}
	}
}

// TestOvertakenEviction: CH-33, CH-A13: while an eviction is recent, a client that shows a later
// choice of a master is told to try again. Once the eviction is old, the client is told that all
// servers have evicted it. A client that shows no later choice is told that at once (CH-A20).
func TestOvertakenEviction(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A13", "CH-A20")
	final := 35 * time.Second
	for _, tt := range []struct {
		ago   time.Duration
		kind  wire.Kind
		epoch uint32
		want  string
	}{
		{0, wire.Connect, 1, "reject:global"},
		{0, wire.Connect, 2, "reject:busy"},
		{0, wire.Choose, 1, "chosen:global"},
		{0, wire.Choose, 2, "chosen:busy"},
		{0, wire.Ping, 1, "pong:global"},
		{final - 1, wire.Connect, 2, "reject:busy"},
		{final, wire.Connect, 2, "reject:global"},
		{final, wire.Choose, 2, "chosen:global"},
	} {
		if got := word5(evictedByA(t, tt.ago), tt.kind, tt.epoch); got != tt.want {
			t.Errorf("after %v a %v with epoch %d: %q, want %q", tt.ago, tt.kind, tt.epoch, got, tt.want)
		}
	}
}

// TestWithdrawn: CH-A8, CH-A13: the server that ordered an eviction can withdraw it. Others
// cannot, and an eviction that this server decided itself cannot be withdrawn.
func TestWithdrawn(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-A13")
	h := evictedByA(t, 0)
	h.batchFrom(otherB, true)
	h.want("answer")
	if got := word5(h, wire.Connect, 1); got != "reject:global" {
		t.Errorf("after the word of a stranger: %q", got)
	}
	h.batchFrom(otherA, true)
	h.want("unbury answer")
	if got := word5(h, wire.Connect, 2); got != "save connected accept" {
		t.Errorf("after it was taken back: %q", got)
	}
	h = newHarness(t, nil) // now the next incarnation connects before the eviction is withdrawn
	h.batchFrom(otherA, false)
	h.connect(6, otherA, 1)
	h.batchFrom(otherA, true)
	h.want("unbury save answer")

	h = newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Evicted: 2}, gone)
	h.want("notice:global evicted:by-admin bury")
	h.batchFrom(otherA, false) // a late copy of the eviction arrives
	h.batchFrom(otherA, true)
	if got := word5(h, wire.Connect, 2); got != "reject:global" {
		t.Errorf("what this master knows to be everywhere was taken back: %q", got)
	}
}

// TestCutOffRevokes: CH-33: a server that loses the quorum drops recent tombstones of other
// servers, and keeps those that are final, such as that of a later incarnation here. Without a quorum it adds no new
// tombstones.
func TestCutOffRevokes(t *testing.T) {
	spec.Covers(t, "CH-33")
	h := evictedByA(t, 35*time.Second-1)
	h.step(ServerInput{Kind: QuorumIs})
	h.want("unbury quorum-lost")
	h.batchFrom(otherA, false)
	h.want("remove answer")
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	if got := word5(h, wire.Connect, 1); got != "save connected accept" {
		t.Errorf("%q", got)
	}
	h = evictedByA(t, 35*time.Second)
	h.step(ServerInput{Kind: QuorumIs})
	h.want("quorum-lost")
	h = newHarness(t, nil)
	h.batchFrom(otherA, false)
	h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: otherA, Epoch: 1})
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 6}) // the client has disconnected, so this tombstone is final
	h.step(ServerInput{Kind: QuorumIs})
	h.want("unbury quorum-lost")
	if incarnation, _ := h.s.Buried(testClient); incarnation != 6 {
		t.Errorf("it refuses incarnation %d", incarnation)
	}
}

// TestMinorityDoesNotSettle: CH-28, CH-33: a master reaches only half of the servers and
// believes that the others are dead. Even then its evictions do not count as made by all
// servers. It withdraws the eviction when the others report a later choice.
func TestMinorityDoesNotSettle(t *testing.T) {
	spec.Covers(t, "CH-28", "CH-33")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.step(ServerInput{Kind: ServerHealth, Server: otherB})
	h.done(wire.Reply{Evicted: 1}, otherB, gone)
	h.want("")
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.step(ServerInput{Kind: ServerHealth, Server: otherB, Alive: true})
	h.want("broadcast1")
	h.done(wire.Reply{Unknown: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherB}}}, gone)
	h.advance(3 * h.s.cfg.Tick) // another server could be back as well
	h.want("save rehomed notice:other-master(10.0.0.3@tcp) broadcast1")
	if b, err := wire.ParseBatch(h.effects[3].Token.([]byte)); err != nil || !b.Withdraw || b.Entries.At(0).Epoch != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	h.done(wire.Reply{}, otherA, gone) // the server repeats the withdrawal as it repeats evictions
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	h.done(wire.Reply{}, gone)
	h.advance(h.s.cfg.Quorum + h.s.cfg.Tick)
	if n := h.s.Status().Batches; n != 0 {
		t.Errorf("%d batches", n)
	}
}

// TestOrderWithoutChoice: CH-A8, CH-62: two servers evict a client, and one of them, of an earlier version, names no choice
// of a master. Whichever order arrives first, the tombstone belongs to the order that names a choice, and is removed when
// that eviction is withdrawn.
func TestOrderWithoutChoice(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-A8")
	for _, first := range []nid.NID{otherA, otherB} {
		h := newHarness(t, nil)
		h.connect(5, otherA, 1)
		if first == otherA {
			h.batchFrom(otherA, false)
			h.evicted(otherB, 5)
		} else {
			h.evicted(otherB, 5)
			h.batchFrom(otherA, false)
		}
		h.batchFrom(otherB, true)
		h.want("answer")
		h.batchFrom(otherA, true)
		h.want("unbury answer")
	}
}

// TestKeptIsWithdrawn: CH-A8, CH-A9, CH-33: a master begins to evict a client, and all servers that are alive name a
// master that the client has chosen later. No server has made the eviction, and the master withdraws it all the same: a
// copy of it may still be on its way to a server that forgets the client meanwhile. A server that was dead gets the
// withdrawal when it comes back, and not the eviction. The eviction of another client in the same batch stays.
func TestKeptIsWithdrawn(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8", "CH-A9")
	stays := wire.Exception{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherB}
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Exceptions: []wire.Exception{stays}}, gone)
	h.want("save rehomed notice:other-master(10.0.0.3@tcp) broadcast1")
	h.wantWithdrawn(3)
	h.done(wire.Reply{}, gone)
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
	h.want("broadcast1")
	h.wantWithdrawn(0)

	h = newHarness(t, nil)
	other := wire.ClientID{7}
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Connect, Client: other, Incarnation: 5, Server: me, Epoch: 1})
	h.message(host, wire.Message{Kind: wire.Here, Code: wire.NotConnected, Incarnation: 5, Epoch: 1})
	h.message(host, wire.Message{Kind: wire.Here, Code: wire.NotConnected, Client: other, Incarnation: 5, Epoch: 1})
	h.advance(h.s.cfg.Tick)
	h.want("broadcast2")
	h.done(wire.Reply{Exceptions: []wire.Exception{stays}}, gone)
	h.done(wire.Reply{}, gone)
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
	h.want("broadcast1 broadcast1")
	first, err := wire.ParseBatch(h.effects[0].Token.([]byte))
	if err != nil || first.Withdraw || first.Entries.At(0).Client != other {
		t.Errorf("%+v, %v", first, err)
	}
	h.wantWithdrawn(1)
}

// wantWithdrawn checks that an effect is a broadcast that withdraws the eviction of the test's client.
func (h *harness) wantWithdrawn(effect int) {
	h.t.Helper()
	b, err := wire.ParseBatch(h.effects[effect].Token.([]byte))
	if err != nil || !b.Withdraw || b.Entries.At(0).Client != testClient || b.Entries.At(0).Incarnation != 5 || b.Entries.At(0).Epoch != 1 {
		h.t.Errorf("%+v, %v", b, err)
	}
}

// TestOutdatedNotice: CH-61, CH-A13: a client has replaced its master, and the new master has agreed.
// A notice that the earlier master (epoch 1) has evicted the client does not end the client's
// incarnation: the client asks the sender whether it is still connected. A notice that the present
// master (epoch 2) has evicted the client ends the incarnation.
func TestOutdatedNotice(t *testing.T) {
	spec.Covers(t, "CH-61", "CH-A13")
	for _, epoch := range []uint32{1, 2} {
		h := newClientHarness(t, me, otherA, otherB)
		h.settled()
		h.now += 2 * time.Second
		h.from(h.c.Status().Master, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
		h.answer(0, wire.Message{Kind: wire.Accept})
		if st := h.c.Status(); st.State != "settled" || st.Epoch != 2 {
			t.Fatalf("%+v", st)
		}
		h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Global, Epoch: epoch})
		if n := h.c.Stats().Evictions; n != uint64(epoch-1) {
			t.Errorf("a notice of epoch %d of 2: evicted %d times", epoch, n)
		}
	}
}

// TestCutOffDoesNotJudge: CH-A18, CH-46: a server that is cut off cannot know whether a
// client's master is dead.
func TestCutOffDoesNotJudge(t *testing.T) {
	spec.Covers(t, "CH-46", "CH-A18")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: ServerHealth, Server: otherB})
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB})
	h.want("chosen:master-dead")
	h.step(ServerInput{Kind: QuorumIs})
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB})
	h.want("chosen:no-quorum")
}
