package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestStalePeer: CH-61: a refusal because of a later incarnation names the node where that
// incarnation runs. This holds for a refused connect, for a refused ping, and for an
// incarnation that is superseded while its record is being saved.
func TestStalePeer(t *testing.T) {
	spec.Covers(t, "CH-61")
	later := nid.ProcessID{NID: nid.MustParse("10.1.0.9@tcp"), PID: nid.LustrePID}
	connect := wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1}
	h := newHarness(t, nil)
	h.message(later, connect)
	for _, m := range []wire.Message{{Kind: wire.Connect, Incarnation: 5, Server: me, Epoch: 1}, {Kind: wire.Ping, Incarnation: 5, Epoch: 1}} {
		h.message(host, m)
		answer := h.last(map[wire.Kind]wire.Kind{wire.Connect: wire.Reject, wire.Ping: wire.Pong}[m.Kind])
		if answer.Code != wire.Stale || answer.Server != later.NID {
			t.Errorf("%v: %v, which names %v", m.Kind, answer.Code, answer.Server)
		}
	}
	h = newHarness(t, nil)
	h.hold = true
	h.connect(5, me, 1)
	h.message(host, connect)
	if r := h.last(wire.Reject); r.Code != wire.Stale || r.Server != host.NID {
		t.Errorf("of the life that is saved: %v, which names %v", r.Code, r.Server)
	}
}

// TestSupersededBy: CH-61: a superseded client reports the node of the later incarnation if the
// server names it. An older server puts a master into that field.
func TestSupersededBy(t *testing.T) {
	spec.Covers(t, "CH-61")
	elsewhere := nid.MustParse("10.1.0.9@tcp")
	for _, old := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		master := h.settled()
		by, want := elsewhere, elsewhere
		if old {
			by, want = master, nid.NID{}
		}
		h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Stale, Incarnation: 9, Server: by})
		h.want("superseded:stale")
		if got := h.out.Effects[len(h.out.Effects)-1].Event; got.Peer != want || got.Server != master {
			t.Errorf("old %v: %+v", old, got)
		}
	}
}

// TestSupersededTriesAgain: a superseded client reports which incarnation superseded it, waits
// for a long time, and connects again in an incarnation later than that one. A client that has
// left does not connect again.
func TestSupersededTriesAgain(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		master, began := h.settled(), h.now
		h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Stale, Incarnation: 99, Server: stranger.NID})
		h.want("superseded:stale")
		st := h.c.Status()
		if st.State != "resting" || st.Superseded == nil || st.Superseded.Peer != stranger.NID || st.Superseded.Server != master ||
			st.Superseded.Incarnation != 99 || st.Superseded.Again != h.wake-h.now {
			t.Fatalf("%+v", st)
		}
		if leaves {
			h.step(ClientInput{Kind: ClientLeave})
			if st := h.c.Status(); st.Superseded != nil || h.wake < began+time.Hour {
				t.Errorf("it left, and wakes at %v: %+v", h.wake, st)
			}
			continue
		}
		h.now = h.wake
		h.step(ClientInput{})
		if d := h.now - began; d < againAfter/2 || d > 2*againAfter || h.sent[0].Kind != wire.Connect || h.sent[0].Incarnation != 100 {
			t.Errorf("after %v: %+v", d, h.sent)
		}
		h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7, Incarnation: 100})
		if h.c.Status().Superseded != nil || h.c.Status().State != "settled" {
			t.Errorf("%+v", h.c.Status())
		}
	}
}

// TestSupersededStillThere: a client was superseded, connected again, and is refused because
// the other process is alive. It waits for as long as before and does not go on asking. A
// client that was not superseded goes on asking.
func TestSupersededStillThere(t *testing.T) {
	for _, was := range []bool{true, false} {
		h := newClientHarness(t, me, otherA)
		if was {
			h.from(h.settled(), wire.Message{Kind: wire.Notice, Code: wire.Stale, Incarnation: 99, Server: stranger.NID})
			h.now = h.wake
		}
		h.step(ClientInput{})
		if !was {
			h.step(ClientInput{Kind: Attach, Server: me})
		}
		began, incarnation := h.now, h.c.incarnation
		h.from(otherA, wire.Message{Kind: wire.Reject, Code: wire.Foreign, Incarnation: incarnation, Server: host.NID})
		h.from(me, wire.Message{Kind: wire.Reject, Code: wire.Foreign, Incarnation: incarnation, Server: host.NID})
		st := h.c.Status()
		if !was {
			if st.State == "resting" || st.Superseded != nil {
				t.Errorf("it was not superseded: %+v", st)
			}
			continue
		}
		if st.State != "resting" || st.Superseded == nil || st.Superseded.Peer != host.NID || h.wake-began < againAfter/2 {
			t.Fatalf("wakes after %v: %+v", h.wake-began, st)
		}
		h.now = h.wake
		h.step(ClientInput{})
		if len(h.sent) == 0 || h.sent[0].Kind != wire.Connect || h.sent[0].Incarnation != incarnation+1 {
			t.Errorf("after that: %+v", h.sent)
		}
	}
}
