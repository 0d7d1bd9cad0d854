package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestEvictionOfLaterIncarnation: CH-11, CH-A20: a server has a connection of a client. The client's
// later incarnation, which is not connected here and has another master, is evicted by that master. The
// server adds a tombstone, so that the evicted incarnation cannot connect here after all other servers
// have evicted it. The earlier incarnation stays until its own master evicts it, even if this server
// restarts.
func TestEvictionOfLaterIncarnation(t *testing.T) {
	spec.Covers(t, "CH-11", "CH-A20")
	for _, master := range []nid.NID{me, otherB} {
		h := newHarness(t, nil)
		h.connect(5, master, 3)
		if r := h.evicted(otherA, 7); r.Unknown != 1 || r.Evicted != 0 || len(r.Exceptions) != 0 {
			t.Errorf("reply %+v", r)
		}
		h.want("bury save answer")
		if r := h.effects[1].Record; r.Incarnation != 5 {
			t.Errorf("saved %+v", r)
		}
		for _, incarnation := range []uint64{6, 7} {
			h.connect(incarnation, master, 1)
			if r := h.last(wire.Reject); r.Code != wire.Global || r.Incarnation != 7 {
				t.Errorf("incarnation %d: %+v", incarnation, r)
			}
		}
		h.connect(5, master, 3)
		h.want("accept")
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 3})
		h.wantState("connected 5 " + master.String() + "/3")
		if r := h.evicted(master, 5); master != me && r.Evicted != 1 {
			t.Errorf("reply to the master %+v", r)
		}
		h.connect(8, otherA, 1)
		if r, ok := h.s.Buried(testClient); !ok || r != 7 {
			t.Errorf("the tombstone is of incarnation %d", r)
		}
	}
}

// TestToldLaterIncarnation: CH-A1, CH-A20: a server that was cut off asks for tombstones, and gets one of a later
// incarnation of a client than the one that is connected to it. Any node can have connected with that client's id
// elsewhere, so the tombstone does not end the connection, and neither would an eviction of that incarnation by broadcast.
// At the next tick the server asks the client's master about the connection. If the master does not know it, the client
// becomes an orphan.
func TestToldLaterIncarnation(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-A20")
	for _, master := range []nid.NID{me, otherB} {
		h := newHarness(t, nil)
		h.connect(5, master, 3)
		h.advance(h.s.cfg.Tick)
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs})
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence-1, wire.Entry{Client: testClient, Incarnation: 7, Mark: 255})
		h.want("bury save")
		if r := h.effects[1].Record; r.Incarnation != 5 {
			t.Errorf("saved %+v", r)
		}
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 3})
		h.wantState("connected 5 " + master.String() + "/3")
		h.advance(h.s.cfg.Tick)
		if strings.Contains(h.words(), "digest") != (master != me) {
			t.Errorf("master %v: %q", master, h.words())
		}
		h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 7, Server: master, Epoch: 1})
		if r := h.last(wire.Reject); r.Code != wire.Busy && r.Code != wire.Global {
			t.Errorf("incarnation 7: %+v", r)
		}
		if master == me {
			continue
		}
		d := wire.Message{Kind: wire.DigestReply, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5})}
		h.message(nid.ProcessID{NID: otherB, PID: nid.LustrePID}, d)
		h.wantState("orphaned 5 " + master.String() + "/3")
	}
}

// TestLaterIncarnationInMinority: CH-33: a server gets the eviction of an incarnation that is not
// connected to it, while an earlier one is. If the server is cut off, or the eviction was withdrawn, it
// adds no tombstone. In any case it keeps the record of the earlier incarnation.
func TestLaterIncarnationInMinority(t *testing.T) {
	spec.Covers(t, "CH-33")
	for _, cut := range []bool{true, false} {
		h := newHarness(t, nil)
		h.connect(5, otherB, 3)
		if cut {
			h.step(ServerInput{Kind: QuorumIs})
		} else {
			h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 7})})
		}
		h.evicted(otherA, 7)
		h.want("answer")
		if _, ok := h.s.Buried(testClient); ok {
			t.Errorf("cut off: %v: there is a tombstone", cut)
		}
	}
}

// TestToldWithoutChoice: CH-33, CH-A1: one other server reports a tombstone of the incarnation that is connected here, and
// the tombstone names no choice of a master. It ends no connection, because any node can have caused it: by connecting to
// that server with the client's id and incarnation, which it can learn from a refusal, and leaving. For tombstones that
// most servers have, see TestDoubt.
func TestToldWithoutChoice(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A1")
	for _, master := range []nid.NID{me, otherB} {
		h := newHarness(t, nil)
		h.connect(5, master, 3)
		h.advance(h.s.cfg.Tick)
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs})
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		last := h.last(wire.Tombstones).Sequence
		h.tellTombstones(otherA, last-1, tombstoneOf(0, time.Minute))
		h.want("")
		h.tellTombstones(otherB, last)
		h.advance(2 * h.s.cfg.Tick)
		h.wantState("connected 5 " + master.String() + "/3")
	}
}

// TestLeftIsNotTold: CH-A1, CH-65: a client that has left cannot connect again in that incarnation. This server does not
// report that tombstone to other servers: another node may have connected here with the client's id, and they would then
// refuse the client itself. It does report the tombstone of a later incarnation that was evicted, and that of the same
// incarnation if another server evicts it.
func TestLeftIsNotTold(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-65")
	for name, tt := range map[string]struct {
		first, then func(h *harness)
		want        uint64 // incarnation of which others are told; 0: of none
	}{
		"left":                           {want: 0},
		"a later incarnation evicted":    {first: func(h *harness) { h.evicted(otherA, 7) }, want: 7},
		"evicted by another server, too": {then: func(h *harness) { h.evicted(otherA, 5) }, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			h := three(t)
			h.connect(5, me, 1)
			if tt.first != nil {
				tt.first(h)
			}
			h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5})
			if tt.then != nil {
				tt.then(h)
			}
			h.connect(5, me, 1)
			if r := h.last(wire.Reject); r.Code != wire.Global {
				t.Errorf("%+v", r)
			}
			h.askTombstones(otherA, 31)
			var told uint64
			if list := h.last(wire.TombstonesReply).Entries; list.Len() > 0 {
				told = list.At(0).Incarnation
			}
			if told != tt.want {
				t.Errorf("others are told of incarnation %d", told)
			}
		})
	}
}
