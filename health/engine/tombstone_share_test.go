package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestTombstonesOfOneNode: CH-65, CH-A1: a node that connects and leaves with one id after the other
// displaces its own tombstones, not the older ones of other nodes, even if it has also used the ids of
// these nodes, in later incarnations.
func TestTombstonesOfOneNode(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A1")
	for _, used := range []int{0, 40} {
		const room, honest = 160, 40
		h := newHarness(t, func(cfg *ServerConfig) { cfg.MaxTombstones = room })
		leave := func(from nid.ProcessID, id wire.ClientID, incarnation uint64) {
			h.message(from, wire.Message{Kind: wire.Connect, Client: id, Incarnation: incarnation, Server: otherA, Epoch: 1})
			h.message(from, wire.Message{Kind: wire.Disconnect, Client: id, Incarnation: incarnation})
			if n, ok := h.s.Buried(id); !ok || n != incarnation {
				t.Fatalf("%v leaves no tombstone", id)
			}
		}
		for i := range honest {
			leave(nid.ProcessID{NID: nid.FromNumber(host.NID.Net(), 20<<24+uint32(i)), PID: nid.LustrePID}, wire.ClientID{1, byte(i)}, 1)
		}
		for i := range used {
			leave(stranger, wire.ClientID{1, byte(i)}, 2)
		}
		for i := range 10 * room {
			leave(stranger, wire.ClientID{2, byte(i), byte(i >> 8)}, 1)
			if n := h.s.Status().Tombstones; n > room {
				t.Fatalf("%d tombstones", n)
			}
		}
		for i := range honest {
			if n, ok := h.s.Buried(wire.ClientID{1, byte(i)}); !ok || n != 1 {
				t.Fatalf("%d ids used: the tombstone of client %d is gone: %d (%v)", used, i, n, ok)
			}
		}
		if n, all := h.s.Status().Tombstones, h.s.Stats().Forgotten; n+int(all) != honest+used+10*room {
			t.Errorf("%d ids used: %d are left and %d forgotten", used, n, all)
		}
		h.wantFetchedShare(wire.ClientID{3})
		h.advance(minTombstone + h.s.cfg.Tick)
		if h.s.tombstones.counts != [shares]int32{} || len(h.s.tombstones.incarnations) != 0 {
			t.Error("they count when they are over")
		}
	}
}

// wantFetchedShare fails the test unless a tombstone that another server has sent is counted in
// the share of the client's NID. The client must be connected to this server.
func (h *harness) wantFetchedShare(id wire.ClientID) {
	h.t.Helper()
	h.message(host, wire.Message{Kind: wire.Connect, Client: id, Incarnation: 2, Server: otherA, Epoch: 1})
	before := h.s.tombstones.counts[shareOf(host.NID)]
	h.s.out = &h.out
	h.s.buryAlso(wire.Entry{Client: id, Incarnation: 1, Mark: 255}, 1)
	if n := h.s.tombstones.counts[shareOf(host.NID)]; n != before+1 {
		h.t.Errorf("%d tombstones count for the NID, not %d", n, before+1)
	}
}
