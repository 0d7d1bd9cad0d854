package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

var stranger = nid.ProcessID{NID: nid.MustParse("10.1.0.66@tcp"), PID: nid.LustrePID}

// steal delivers a connect that another node, the stranger, sends with the client's id, in a
// later incarnation.
func (h *harness) steal(incarnation uint64, master nid.NID) {
	h.t.Helper()
	h.message(stranger, wire.Message{Kind: wire.Connect, Incarnation: incarnation, Server: master, Epoch: 1, Sequence: 3})
}

// TestStrangerIsRefused: CH-A1: another node sends a connect with a later incarnation of a
// client that is alive. Whichever server is the client's master, the server asks the client,
// keeps it connected, and refuses the other node.
func TestStrangerIsRefused(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for _, master := range []nid.NID{me, otherA} {
		h := newHarness(t, nil)
		h.connect(5, master, 1)
		state := h.state()
		h.steal(6, master)
		h.want("reject:busy ask:stale")
		if m := h.last(wire.Ask); m.Incarnation != 5 || m.Epoch != 1 || m.Server != stranger.NID {
			t.Errorf("asks %+v", m)
		}
		h.message(host, wire.Message{Kind: wire.Here, Incarnation: 5, Epoch: 1})
		h.want("reject:foreign")
		if m := h.last(wire.Reject); m.Server != host.NID || m.Incarnation != 6 || m.Sequence != 3 {
			t.Errorf("is told %+v", m)
		}
		h.wantState(state)
		h.steal(7, master) // many of these connects do not cause many questions
		h.want("reject:busy")
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
		h.wantState(state)
		if s := h.s.Stats(); s.Refuted != 2 || s.Asks != 1 || s.Notices[wire.Stale] != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// TestTakenOver: CH-A1: a client is started on another node while its old process is connected.
// The server asks the old process, and accepts the new one when the old one has not answered for
// T_evict or answers that it has ended. The old process gets one notice that its connection is over.
func TestTakenOver(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for _, says := range []bool{false, true} {
		for _, master := range []nid.NID{me, otherA} {
			h := newHarness(t, nil)
			h.connect(5, master, 1)
			h.advance(h.s.cfg.Ping)
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
			h.steal(6, otherA)
			if says {
				h.message(host, wire.Message{Kind: wire.Here, Code: wire.NotConnected, Incarnation: 5, Epoch: 1})
			} else {
				h.advance(h.s.cfg.Evict)
			}
			if master == me {
				h.wantState("evicting 5 10.0.0.1@tcp/1")
				h.done(wire.Reply{Evicted: 1}, gone)
			}
			h.wantState("connected 6 10.0.0.2@tcp/1")
			if info, _ := h.s.Client(testClient); info.Peer != stranger {
				t.Errorf("%+v", info)
			}
			if n := h.s.Stats().Notices; n[wire.Stale]+n[wire.Global] != 1 || !says && n[wire.Stale] != 1 {
				t.Errorf("says %v, master %v: the old one is told %v", says, master, n)
			}
		}
	}
}

// TestWaitingIsBusy: CH-A1: a connect waits until the client's earlier incarnation is gone, in another process or in the
// same one. Meanwhile the server does not tell the later incarnation that it is not connected: it may be soon, and would
// not know of that connection.
func TestWaitingIsBusy(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for _, from := range []nid.ProcessID{host, stranger} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.message(from, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1, Sequence: 3})
		choose := wire.Message{Kind: wire.Choose, Incarnation: 6, Server: otherA, Epoch: 2, Sequence: 4}
		h.message(from, choose)
		h.want("chosen:busy")
		h.message(from, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 6, Sequence: 2})
		h.want("") // a farewell of before the connect
		choose.Incarnation = 7
		h.message(from, choose)
		h.want("chosen:not-connected")
	}
}

// TestFarewellOfWaiting: CH-A1: a client leaves while its connect waits until its earlier incarnation is gone, in another process
// or in the same one. The server answers the farewell, and does not accept the connect later. A farewell of before the
// connect, or of another process, changes nothing.
func TestFarewellOfWaiting(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for name, tt := range map[string]struct {
		by       nid.ProcessID
		sequence uint64
		answer   string
		later    string
	}{
		"left":            {stranger, 4, "reject:not-connected", "none"},
		"an old farewell": {stranger, 2, "", "connected 6 10.0.0.1@tcp/1"},
		"another process": {nid.ProcessID{NID: stranger.NID, PID: 7}, 4, "reject:not-connected", "connected 6 10.0.0.1@tcp/1"},
	} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.steal(6, me)
		h.message(tt.by, wire.Message{Kind: wire.Disconnect, Incarnation: 6, Sequence: tt.sequence})
		h.want(tt.answer)
		h.advance(h.s.cfg.Evict + 2*h.s.cfg.Tick) // the connected process says nothing
		h.done(wire.Reply{Evicted: 2}, gone)
		if got := h.state(); got != tt.later {
			t.Errorf("%s: the client is %q", name, got)
		}
	}
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 6, Server: me, Epoch: 1, Sequence: 3})
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 6, Sequence: 4})
	h.want("reject:not-connected")
	h.done(wire.Reply{Evicted: 2}, gone)
	h.wantState("none")
}

// TestOwnerNeedsNoConsent: a client whose id is derived from its address is accepted at once,
// even if another node is connected with that id and answers all questions.
func TestOwnerNeedsNoConsent(t *testing.T) {
	spec.Covers(t, "CH-70")
	h := newHarness(t, nil)
	own := wire.ClientIDOf(host.String())
	m := wire.Message{Kind: wire.Connect, Client: own, Incarnation: 5, Server: otherA, Epoch: 1}
	h.message(stranger, m)
	h.want("save connected accept")
	m.Incarnation = 6
	h.message(host, m)
	h.want("notice:stale evicted:rebooted remove save connected accept(10.0.0.2@tcp)")
	if n := h.last(wire.Notice); n.Server != host.NID || n.Incarnation != 6 {
		t.Errorf("is told %+v", n)
	}
}

// TestRestartAtOnce: a later incarnation of the same process does not wait, even while another
// node wants the client's id. An incarnation whose record is being saved is told that it is
// superseded.
func TestRestartAtOnce(t *testing.T) {
	spec.Covers(t, "CH-70")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.steal(6, otherA)
	h.connect(7, otherA, 1)
	h.wantState("connected 7 10.0.0.2@tcp/1")
	h.hold = true
	h.connect(8, otherA, 2)
	h.connect(9, otherA, 2)
	h.want("reject:stale remove save")
}

// TestTakeoversAreBounded: one node cannot fill the table of takeovers that wait.
func TestTakeoversAreBounded(t *testing.T) {
	h := newHarness(t, func(cfg *ServerConfig) { cfg.MaxIDs = 4 * maxOfOneNID })
	connect := func(from nid.ProcessID, i, incarnation int) {
		h.message(from, wire.Message{Kind: wire.Connect, Client: wire.ClientID{9, byte(i), byte(i >> 8)}, Incarnation: uint64(incarnation), Server: otherA, Epoch: 1})
	}
	for i := range 3 * maxOfOneNID {
		connect(host, i, 1)
	}
	for i := range 3 * maxOfOneNID {
		connect(stranger, i, 2)
	}
	if n := len(h.s.takeovers.clients); n != maxOfOneNID {
		t.Errorf("%d wait", n)
	}
	other := stranger
	other.NID = nid.MustParse("10.1.0.67@tcp")
	connect(other, 2*maxOfOneNID, 2)
	h.want("reject:busy ask:stale")
}

// TestAnswersWhoIsAsked: CH-A1: when another process uses a client's id, servers ask the client
// whether it is alive. The client answers each of them.
func TestAnswersWhoIsAsked(t *testing.T) {
	spec.Covers(t, "CH-A1")
	h := newClientHarness(t, me, otherA)
	other := otherA
	if h.settled() == otherA {
		other = me
	}
	h.c.peer(other)
	h.from(other, wire.Message{Kind: wire.Ask, Code: wire.Stale, Epoch: 1})
	if len(h.sent) != 1 || h.sent[0].Kind != wire.Here || h.sent[0].Code != wire.OK || h.sent[0].Incarnation != h.c.incarnation {
		t.Errorf("%+v", h.sent)
	}
}

// TestRebootedElsewhere: CH-A1: a server learns from a master that a client was evicted because
// of a later incarnation. The server notifies the earlier incarnation, which may still run.
func TestRebootedElsewhere(t *testing.T) {
	spec.Covers(t, "CH-A1")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	e := wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.Rebooted), Epoch: 1}
	h.step(ServerInput{Kind: EvictArrived, Server: otherA, Data: (&wire.Batch{Entries: entries(e)}).AppendTo(nil)})
	if n := h.last(wire.Notice); n.Code != wire.Stale || n.Incarnation != 6 {
		t.Errorf("told %+v", n)
	}
}
