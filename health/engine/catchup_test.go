package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// cutOffFor returns a server that was cut off for the given time and has just regained the
// quorum. No server has sent its tombstones yet.
func cutOffFor(t *testing.T, away time.Duration) (h *harness, ask wire.Message) {
	h = newHarness(t, nil)
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(away)
	h.mute = true
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.want("quorum-won tombstones tombstones")
	return h, h.last(wire.Tombstones)
}

func (h *harness) tellTombstones(from nid.NID, sequence uint64, list ...wire.Entry) {
	h.t.Helper()
	h.message(nid.ProcessID{NID: from, PID: nid.LustrePID}, wire.Message{Kind: wire.TombstonesReply, Sequence: sequence, Epoch: 1, Entries: entries(list...)})
}

// TestCatchUp: CH-33, CH-63, CH-65: a server that regains the quorum asks the others for their
// tombstones, back to 2·T_evict + T_q before it lost the quorum. Until they have answered it
// accepts no client, and after that it accepts no client that they have evicted.
func TestCatchUp(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-63", "CH-65")
	h, ask := cutOffFor(t, time.Minute)
	if ask.Retry != time.Minute+2*h.s.cfg.Evict+h.s.cfg.Quorum {
		t.Errorf("asked for %v", ask.Retry)
	}
	if got := word5(h, wire.Connect, 1); got != "reject:busy" {
		t.Errorf("before anybody answered: %q", got)
	}
	h.tellTombstones(otherA, ask.Sequence-1, wire.Entry{Client: testClient, Incarnation: 5, Mark: 200})
	h.want("bury")
	if got := word5(h, wire.Connect, 1); got != "reject:global" {
		t.Errorf("with a tombstone: %q", got)
	}
	h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1})
	h.want("reject:busy")
	h.tellTombstones(otherB, ask.Sequence)
	h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1})
	h.want("save connected accept")
}

// TestCatchUpInTime: servers that do not answer delay clients by T_bcast at most, and the server
// stops asking them. A late answer evicts a client that was accepted in the meantime.
func TestCatchUpInTime(t *testing.T) {
	h, ask := cutOffFor(t, time.Minute)
	h.advance(h.s.cfg.Broadcast)
	if got := word5(h, wire.Connect, 1); got != "save connected accept" {
		t.Errorf("after T_bcast: %q", got)
	}
	h.tellTombstones(otherB, ask.Sequence, wire.Entry{Client: testClient, Incarnation: 5, Epoch: 1, Mark: 200})
	h.want("notice:global evicted:lost-master remove bury")
	asked := h.s.Stats().Sent
	h.advance(time.Minute)
	if n := h.s.Stats().Sent - asked; n > maxAsks {
		t.Errorf("asked %d times", n)
	}
}

// TestHostileTombstones: tombstones count only from a server that was asked, and not for
// incarnations whose number is not credible. Only servers are answered, and not too often.
func TestHostileTombstones(t *testing.T) {
	h, ask := cutOffFor(t, time.Minute)
	tombstone := wire.Entry{Client: testClient, Incarnation: 5, Mark: 255}
	h.tellTombstones(host.NID, ask.Sequence, tombstone)
	h.tellTombstones(otherA, ask.Sequence, tombstone) // ignored: otherA uses the sequence number of the question to otherB
	h.tellTombstones(otherB, ask.Sequence, wire.Entry{Client: testClient, Incarnation: 1<<64 - 1, Mark: 255})
	h.tellTombstones(otherB, ask.Sequence-1, tombstone) // ignored: no question to otherB had this sequence number
	if st := h.s.Stats(); h.s.Status().Tombstones != 0 || st.Strangers != 1 || st.Late != 2 || st.Ahead != 1 {
		t.Errorf("%+v", st)
	}
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
	h.message(server, wire.Message{Kind: wire.Tombstones, Retry: 1 << 40})
	h.want("tombstones-reply")
	h.message(server, wire.Message{Kind: wire.Tombstones, Retry: 1 << 40})
	h.want("")
	if n := h.s.Stats().Hurried; n != 1 {
		t.Errorf("hurried %d times", n)
	}
}

// TestAskBack: CH-33, CH-63: after an asymmetric partition only one of two servers has noticed
// that the other was away. That server evicted clients without the other, and asks it for
// tombstones. The other server then asks back for the same period, unless it has asked just
// before.
func TestAskBack(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-63")
	h := newHarness(t, nil)
	h.mute = true
	h.advance(maxAsks * h.s.cfg.Tick) // the questions that the server asked at its start have ended
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
	h.message(server, wire.Message{Kind: wire.Tombstones, Sequence: 3, Retry: time.Minute})
	h.want("tombstones-reply tombstones")
	ask := h.last(wire.Tombstones)
	if ask.Retry != time.Minute {
		t.Errorf("asked for %v", ask.Retry)
	}
	h.tellTombstones(otherA, ask.Sequence)
	h.advance(h.s.cfg.Tick)
	h.message(server, wire.Message{Kind: wire.Tombstones, Sequence: 4, Retry: time.Minute})
	h.want("tombstones-reply")
}

// TestDigestToWhoWasAway: CH-33, CH-65, goal G-CH-6: another server asks this one for tombstones,
// because it was cut off or has just started. The other server may have evicted clients whose master it
// was. So at the next tick this server asks it to confirm its clients that are connected here, instead of
// waiting up to T_evict for the next digest. That holds even if discovery did not report the other server
// as dead.
func TestDigestToWhoWasAway(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-65", "G-CH-6")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.advance(h.s.cfg.Tick)
	h.mute = true
	h.message(nid.ProcessID{NID: otherA, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: 3, Retry: time.Minute})
	h.advance(h.s.cfg.Tick + 1)
	if m := h.last(wire.Digest); m.Entries.Len() != 1 || m.Entries.At(0).Client != testClient {
		t.Errorf("within a tick it hears %+v", m)
	}
}

// TestTellTombstones: a server sends its recent tombstones in as many messages as necessary, the
// youngest first. Each tombstone comes with the time for which it is still kept.
func TestTellTombstones(t *testing.T) {
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: RestoreTombstone, Client: wire.ClientID{1}, Incarnation: 3, For: time.Minute})
	for k := range wire.MaxEntries + 1 {
		h.step(ServerInput{Kind: RestoreTombstone, Client: wire.ClientID{2, byte(k), byte(k >> 8)}, Incarnation: 4, For: 5 * time.Minute})
	}
	h.message(nid.ProcessID{NID: otherA, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: 9, Retry: 5 * time.Minute})
	h.want("tombstones-reply tombstones-reply")
	m := h.last(wire.TombstonesReply)
	if m.Sequence != 9 || m.Epoch != 1<<16|2 || m.Entries.Len() != 1 || m.Entries.At(0).Incarnation != 4 || m.Entries.At(0).Mark != 127 {
		t.Errorf("%+v", m)
	}
}

// TestLateEviction: CH-A8, CH-33: an eviction that was withdrawn and arrives again leaves no
// tombstone, whichever of the eviction and the withdrawal arrives first. An eviction of a later
// choice of a master does leave one.
func TestLateEviction(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	for _, first := range []bool{false, true} {
		h := newHarness(t, nil)
		if first {
			h.batchFrom(otherA, false)
		}
		h.batchFrom(otherA, true)
		h.batchFrom(otherA, false)
		if got := word5(h, wire.Connect, 2); got != "save connected accept" {
			t.Errorf("evicted first: %v; %q", first, got)
		}
	}
}

// TestTombstoneTakenBack: CH-A8, CH-33: when a partition ends, some servers send a tombstone
// before they learn that its eviction was withdrawn. A server that knows of the withdrawal
// ignores the tombstone, unless the tombstone belongs to a later choice of a master.
func TestTombstoneTakenBack(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	h, ask := cutOffFor(t, time.Minute)
	h.batchFrom(otherA, true)
	h.tellTombstones(otherB, ask.Sequence, wire.Entry{Client: testClient, Incarnation: 5, Epoch: 1, Mark: 200})
	h.want("")
	h, ask = cutOffFor(t, time.Minute)
	h.batchFrom(otherA, true)
	h.tellTombstones(otherB, ask.Sequence, wire.Entry{Client: testClient, Incarnation: 5, Epoch: 9, Mark: 200})
	h.want("bury")
}

// TestTombstoneAfterWithdrawal: CH-20, CH-33: an eviction is withdrawn, and the client stays connected under
// another master. When that master and the client die, the servers evict the client as an orphan, and that
// tombstone names no choice of a master. A server that learns of the tombstone later applies it even if it is
// older than the withdrawal, because a withdrawal can arrive late. But if the withdrawal names no choice either,
// as those by earlier versions, the server ignores the tombstone, which may belong to the withdrawn eviction.
func TestTombstoneAfterWithdrawal(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-33")
	for _, tt := range []struct {
		age   time.Duration
		epoch uint32 // of the withdrawal
		want  string
	}{{10 * time.Second, 1, "bury"}, {2 * time.Minute, 1, "bury"}, {2 * time.Minute, 0, ""}} {
		h, ask := cutOffFor(t, time.Minute)
		h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: tt.epoch})})
		h.advance(time.Minute)
		h.tellTombstones(otherB, ask.Sequence, tombstoneOf(0, tt.age))
		if h.want(tt.want); tt.want == "" {
			continue
		}
		if got := word5(h, wire.Connect, 9); got != "reject:global" {
			t.Errorf("%q", got)
		}
	}
}

// TestToldInAnyOrder: CH-33, CH-62: two servers report tombstones of two evictions of one incarnation. Whichever arrives first,
// the tombstone of the later choice of a master counts, in memory and in the store: it stays when the earlier master
// withdraws its eviction.
func TestToldInAnyOrder(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-62")
	for _, epochs := range [][2]uint32{{1, 3}, {3, 1}, {0, 3}, {3, 0}} {
		h, ask := cutOffFor(t, time.Minute)
		h.tellTombstones(otherA, ask.Sequence-1, tombstoneOf(epochs[0], 0))
		stored := h.effects[0].Epoch
		h.tellTombstones(otherB, ask.Sequence, tombstoneOf(epochs[1], 0))
		if len(h.effects) > 0 {
			stored = h.effects[0].Epoch
		}
		if stored != 3 {
			t.Errorf("%v: the store has the tombstone of choice %d", epochs, stored)
		}
		h.batchFrom(otherA, true)
		h.want("answer")
		if _, ok := h.s.Buried(testClient); !ok {
			t.Errorf("%v: the tombstone has gone", epochs)
		}
	}
}

// TestChooseWhileSaving: a client sends Choose while the server still saves the record of its
// connection. The server answers with Accept once the record is durable, to the latest of such messages.
func TestChooseWhileSaving(t *testing.T) {
	h := newHarness(t, nil)
	h.hold = true
	h.connect(5, me, 1)
	save := h.effects[0].ID
	choose := wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 1, Server: me, Sequence: 11}
	h.message(host, choose)
	h.want("")
	choose.Sequence = 8 // a late copy of an earlier message; the connect has sequence number 9
	h.message(host, choose)
	h.want("")
	h.step(ServerInput{Kind: Saved, ID: save})
	h.want("connected accept")
	if a := h.last(wire.Accept); a.Sequence != 11 {
		t.Errorf("answer to %d", a.Sequence)
	}
}

// TestChoosesWhileSaving: CH-A8: a client makes a later choice of a master, by a connect or by a choice, while a server
// saves its record. The server does not obey an eviction by the former master then, and names the later choice.
func TestChoosesWhileSaving(t *testing.T) {
	spec.Covers(t, "CH-A8")
	for _, kind := range []wire.Kind{wire.Connect, wire.Choose} {
		h := newHarness(t, nil)
		h.hold = true
		h.connect(5, otherA, 1)
		save := h.effects[0].ID
		h.message(host, wire.Message{Kind: kind, Incarnation: 5, Epoch: 2, Server: otherB, Sequence: 11})
		h.want("save")
		r := h.wanted(otherA, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: 1})})
		if len(r.Exceptions) != 1 || r.Exceptions[0].Code != wire.OtherMaster || r.Exceptions[0].Master != otherB || r.Exceptions[0].Epoch != 2 {
			t.Errorf("%v: the former master is answered %+v", kind, r)
		}
		h.step(ServerInput{Kind: Saved, ID: save})
		h.want("connected accept")
		h.wantState("connected 5 10.0.0.3@tcp/2")
	}
}
