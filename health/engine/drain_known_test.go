package engine

import (
	"slices"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestDrainIsKnown: a server that begins or ends draining tells all other servers at once. It
// tells each server that comes alive later, too.
func TestDrainIsKnown(t *testing.T) {
	spec.Covers(t, "CH-72")
	told := func(h *harness, want wire.Code, to ...nid.NID) {
		t.Helper()
		var got []nid.NID
		for i := range h.effects {
			if e := &h.effects[i]; e.Kind == DoSend && e.Server.IsValid() {
				if m, _ := wire.ParseMessage(e.Token.([]byte)); m.Kind == wire.Digest && m.Code == want {
					got = append(got, e.Server)
				}
			}
		}
		if !slices.Equal(got, to) {
			t.Errorf("told %v of %v, want %v", got, want, to)
		}
	}
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: Drain, Alive: true})
	told(h, wire.Draining, otherA, otherB)
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
	h.advance(h.s.cfg.Tick)
	told(h, wire.Draining, gone)
	h.step(ServerInput{Kind: Drain})
	told(h, wire.OK, otherA, otherB, gone)
}

// TestLastWilling: an error names the last server that still accepts clients, and the servers
// that do not.
func TestLastWilling(t *testing.T) {
	h := newHarness(t, nil)
	want := func(last bool, others ...nid.NID) {
		t.Helper()
		if list, is := h.s.LastWilling(); is != last || !slices.Equal(list, others) {
			t.Errorf("last %v beside %v, want %v beside %v", is, list, last, others)
		}
	}
	say := func(id nid.NID, code wire.Code) {
		h.message(nid.ProcessID{NID: id, PID: nid.LustrePID}, wire.Message{Kind: wire.Digest, Code: code})
	}
	want(false)
	say(otherA, wire.Draining)
	want(false, otherA)
	say(otherB, wire.Draining)
	want(true, otherA, otherB)
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
	want(false, otherA, otherB)
	say(gone, wire.NoQuorum) // this other server accepts no clients, for another reason than draining
	want(true, otherA, otherB)
	say(otherB, wire.OK)
	want(false, otherA)
	h.step(ServerInput{Kind: ServerHealth, Server: otherB})
	want(true, otherA)
}

// TestWillingAgain: a server that did not accept clients, died and is back may have been restarted: it counts as willing and is
// asked, also without load balancing (Uneven). If it still does not accept clients, its answer says so.
func TestWillingAgain(t *testing.T) {
	spec.Covers(t, "CH-72")
	for _, code := range []wire.Code{wire.Draining, wire.StoreFailed} {
		h := newHarness(t, nil)
		from := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
		h.step(ServerInput{Kind: ServerHealth, Server: otherB})
		h.message(from, wire.Message{Kind: wire.Digest, Code: code})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
		if list, last := h.s.LastWilling(); last || len(list) > 0 {
			t.Errorf("%v: after its return last %v beside %v", code, last, list)
		}
		h.advance(h.s.cfg.Tick)
		if d := h.last(wire.Digest); len(d.Entries) != 0 {
			t.Errorf("%v: asked with %+v", code, d)
		}
		h.message(from, wire.Message{Kind: wire.DigestReply, Code: code})
		if _, last := h.s.LastWilling(); !last {
			t.Errorf("%v: its answer does not count", code)
		}
	}
}
