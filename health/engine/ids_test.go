package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// ofIncarnation delivers a connect of one of many clients, whose process runs in the given
// incarnation of its NI.
func (h *harness) ofIncarnation(from nid.ProcessID, number, incarnation int, master nid.NID) wire.Code {
	h.t.Helper()
	m := wire.Message{Kind: wire.Connect, Client: wire.ClientID{7, byte(number), byte(number >> 8)}, Incarnation: 1, Server: master, Epoch: 1}
	h.step(ServerInput{Kind: Arrived, From: from, PeerIncarnation: uint64(incarnation), Data: m.AppendTo(nil)})
	for i := range h.effects {
		if r, err := wire.ParseMessage(h.effects[i].Token.([]byte)); err == nil && h.effects[i].Kind == DoSend && h.effects[i].To == from {
			return r.Code
		}
	}
	h.t.Fatalf("%d is not answered", number)
	return wire.OK
}

// TestIDsOfOneNID: CH-A1: a NID can have 4 clients, and 64 clients of user processes besides,
// unless other numbers are configured. The clients of other NIDs are not affected.
func TestIDsOfOneNID(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for _, c := range []struct {
		change      func(*ServerConfig)
		kernel, own int
	}{
		{nil, 4, 64},
		{func(cfg *ServerConfig) { cfg.MaxIDs, cfg.MaxUserIDs = 2, 3 }, 2, 3},
	} {
		h := newHarness(t, c.change)
		fill := func(from nid.ProcessID, first int) (accepted int) {
			for i := range 100 {
				if user := from.PID&nid.UserPID != 0; user {
					from.PID++
				}
				switch code := h.ofIncarnation(from, first+i, 1, otherA); code {
				case wire.OK:
					accepted++
				case wire.Full:
				default:
					t.Fatalf("%d is refused: %v", i, code)
				}
			}
			return accepted
		}
		if n := fill(host, 0); n != c.kernel {
			t.Errorf("%d clients of one NID, want %d", n, c.kernel)
		}
		if n := fill(nid.ProcessID{NID: host.NID, PID: nid.UserPID}, 100); n != c.own {
			t.Errorf("%d clients of user processes, want %d", n, c.own)
		}
		if n := fill(stranger, 300); n != c.kernel {
			t.Errorf("%d clients of another NID, want %d", n, c.kernel)
		}
		if code := h.ofIncarnation(host, 0, 1, otherA); code != wire.OK {
			t.Errorf("one that is connected is refused: %v", code)
		}
		if n := len(h.s.flaps.incarnations); n != 2*c.kernel+c.own {
			t.Errorf("%d are counted as starting often, want those that were accepted", n)
		}
		leave := wire.Message{Kind: wire.Disconnect, Client: wire.ClientID{7, 1}, Incarnation: 1}
		h.message(host, leave)
		if code := h.ofIncarnation(host, 99, 1, otherA); code != wire.OK {
			t.Errorf("after one has left: %v", code)
		}
	}
}

// TestIDsOfEarlierIncarnation: CH-A1: if a NID has too many clients, the server first removes
// clients whose process has restarted since they connected, even if it has to evict them. It
// does not remove a client because of a late message of an earlier incarnation, nor one whose
// process is alive, nor one of another process.
func TestIDsOfEarlierIncarnation(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for _, master := range []nid.NID{me, otherA} {
		h := newHarness(t, func(cfg *ServerConfig) { cfg.MaxIDs = 2 })
		h.ofIncarnation(host, 0, 5, master)
		h.ofIncarnation(host, 1, 5, master)
		for incarnation := range 6 {
			if code := h.ofIncarnation(host, 2, incarnation, master); code != wire.Full {
				t.Errorf("life %d: %v", incarnation, code)
			}
		}
		other := host
		other.PID++
		if code := h.ofIncarnation(other, 2, 6, master); code != wire.Full {
			t.Errorf("another process: %v", code)
		}
		h.ofIncarnation(host, 1, 6, master) // this client has connected again since the process restarted
		if master == me {
			if code := h.ofIncarnation(host, 2, 6, me); code != wire.Busy {
				t.Errorf("while one is evicted: %v", code)
			}
			h.done(wire.Reply{Evicted: 1}, gone)
		}
		if code := h.ofIncarnation(host, 2, 6, master); code != wire.OK {
			t.Errorf("the later life: %v", code)
		}
		if _, there := h.s.Client(wire.ClientID{7, 0}); there {
			t.Error("the client of the earlier life is there")
		}
		if _, there := h.s.Client(wire.ClientID{7, 1}); !there || h.s.Stats().Displaced != 1 {
			t.Errorf("the client that went on is gone, or %d were displaced", h.s.Stats().Displaced)
		}
		if code := h.ofIncarnation(host, 3, 6, master); code != wire.Full {
			t.Errorf("all of this life: %v", code)
		}
	}
}
